// What launches take while the process holds the device, as far as that has been measured.
//
// Thread-safe. Nothing throws: without memory nothing is learnt.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "interpose/costs/cost_keys.h"
#include "interpose/turns/pace.h"
#include "learn/cost_table.h"

namespace cleave::interpose {

// This much of a launch shows what cutting it finer costs, to a few per cent.
inline constexpr base::Nanoseconds kTelling{3'000'000};

class TurnCosts {
 public:
  // `table` must outlive this.
  explicit TurnCosts(learn::CostTable& table) : table_(table) {}

  // Nothing is known, or kept, for keys of 0.
  [[nodiscard]] learn::SliceAdvice duration(const CostKeys& keys, std::size_t items) noexcept;

  // A launch took `time`. `fineness`: PolicyDecision::fineness, if `time` shows what that costs; else 0.
  void observe(learn::Key key, std::size_t fineness, base::Nanoseconds time) noexcept;

  // Whether a launch that can be cut into `slices` should be made whole nevertheless: as a single command, or to measure what it
  // takes. `expected`: that, 0 if it is unknown.
  [[nodiscard]] bool goes_whole(base::Nanoseconds expected, std::size_t slices, const Pace& pace) noexcept;

 private:
  learn::CostTable& table_;
  std::atomic<std::uint32_t> unmeasured_{0};  // launches with too few slices to be measured by these
};

}  // namespace cleave::interpose
