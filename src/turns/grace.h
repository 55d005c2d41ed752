// How long a participant whose work is done keeps the device, in the expectation that it launches again at once: the
// anticipation of Linux's anticipatory disk scheduler, learnt from the participant's own gaps. A chain of kernels with a
// little host work between them would otherwise wait for somebody's quantum before each of its kernels.
//
// A gap is the time from the end of its work to its next launch. Those that are worth waiting for are short; the grace covers
// nearly all of the short ones, and is zero while too few gaps are short.
//
// Not thread-safe. No clock, no allocation.
#pragma once

#include "turns/state.h"

namespace cleave::turns {

class Grace {
 public:
  // The longest gap that is worth keeping the device idle.
  static constexpr Ns kLongest = 500'000;
  // Before anything is known.
  static constexpr Ns kFirst = 100'000;

  void observe_gap(Ns gap);

  // 0: the device is passed on at once.
  [[nodiscard]] Ns grace() const;

 private:
  // All in fixed point where it matters; means over the last eight or so.
  Ns mean_ = kFirst / 2;       // of the short gaps
  Ns deviation_ = kFirst / 4;  // of these, from the mean
  int short_share_ = 512;      // how many gaps are short, of 1024
};

}  // namespace cleave::turns
