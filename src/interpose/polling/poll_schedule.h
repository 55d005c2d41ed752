// When to poll a command again that is being waited for. Arithmetic only.
//
// Each sleep is a small share of the time waited so far, so the end is noticed late by at most 3 % or 60 µs, whichever
// is more, as long as the clock oversleeps by no more than 20 µs. If an end is predicted, polls are rare before it and
// frequent around it; a wrong prediction costs polls but never exceeds that bound.
//
// Thread-safe: pure.
#pragma once

#include "base/clock.h"

namespace cleave::interpose {

class PollSchedule {
 public:
  PollSchedule() = default;
  // The command is expected to end `predicted` after the wait began; 0: unknown.
  explicit PollSchedule(base::Nanoseconds predicted) : predicted_(predicted) {}

  // How long to sleep after a wait of `waited`. Never 0.
  [[nodiscard]] base::Nanoseconds next(base::Nanoseconds waited) const;

 private:
  base::Nanoseconds predicted_{0};
};

}  // namespace cleave::interpose
