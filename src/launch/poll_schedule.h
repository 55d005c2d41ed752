// When to look again at a command that is being waited for. Arithmetic only.
//
// A sleep is a small share of the time waited so far, so the end is noticed late by that share of it at most:
// by 3 % or 60 µs, whichever is more, as long as the clock oversleeps by no more than 20 µs. Where an end is
// predicted, the looks are few before it and many around it; a prediction that is wrong costs looks and never
// that bound.
//
// Thread-safe: pure.
#pragma once

#include "base/clock.h"

namespace cleave::launch {

class PollSchedule {
 public:
  PollSchedule() = default;
  // The command is expected to end `predicted` after the wait has begun; 0: nothing is known.
  explicit PollSchedule(base::Nanoseconds predicted) : predicted_(predicted) {}

  // How long to sleep after a wait of `waited`. Never 0.
  [[nodiscard]] base::Nanoseconds next(base::Nanoseconds waited) const;

 private:
  base::Nanoseconds predicted_{0};
};

}  // namespace cleave::launch
