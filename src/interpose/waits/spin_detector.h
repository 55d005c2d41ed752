// Detects whether a driver's own waits keep the processor busy, from the share of a few long waits that the thread
// spent running.
//
// Thread-safe, lock-free.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace cleave::interpose {

class SpinDetector {
 public:
  enum class Verdict : std::uint8_t { unknown, spins, sleeps };

  // A wait of the driver took `wall`, of which the thread ran for `processor`. Short waits are ignored: many drivers
  // spin for a moment before they sleep.
  void add(base::Nanoseconds wall, base::Nanoseconds processor) noexcept;

  // Final from the third long wait on, or as soon as these took 100 ms.
  [[nodiscard]] Verdict verdict() const noexcept { return verdict_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> wall_{0};
  std::atomic<std::int64_t> processor_{0};
  std::atomic<unsigned> waits_{0};
  std::atomic<Verdict> verdict_{Verdict::unknown};
};

}  // namespace cleave::interpose
