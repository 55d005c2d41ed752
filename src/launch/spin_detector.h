// Whether a driver's own waits burn the processor, learnt from a few long ones: how much of the time that a
// thread waited did it spend running?
//
// Thread-safe, without locks.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace cleave::launch {

class SpinDetector {
 public:
  enum class Verdict : std::uint8_t { unknown, spins, sleeps };

  // A wait of the driver's own took `wall`, of which the thread ran for `processor`. Short ones say nothing:
  // many drivers spin for a moment before they sleep.
  void add(base::Nanoseconds wall, base::Nanoseconds processor) noexcept;

  // Stands from the third long wait on, or as soon as there were 100 ms of them.
  [[nodiscard]] Verdict verdict() const noexcept { return verdict_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> wall_{0};
  std::atomic<std::int64_t> processor_{0};
  std::atomic<unsigned> waits_{0};
  std::atomic<Verdict> verdict_{Verdict::unknown};
};

}  // namespace cleave::launch
