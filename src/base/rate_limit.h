// Limits a rate: one event in each interval, and a number of them at once after a pause. Faster events have to wait.
//
// Not thread-safe. Nothing throws.
#pragma once

#include <algorithm>
#include <chrono>

namespace cleave::base {

class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  constexpr RateLimit(Clock::duration interval, int burst) : interval_(interval), burst_(burst) {}

  // When the next one may happen.
  [[nodiscard]] Clock::time_point next() const { return paid_until_ - (burst_ - 1) * interval_; }
  // One happens.
  void count(Clock::time_point now) { paid_until_ = std::max(paid_until_, now) + interval_; }

 private:
  Clock::duration interval_;
  int burst_;
  Clock::time_point paid_until_{};
};

}  // namespace cleave::base
