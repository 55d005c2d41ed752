// Whether the participants of a device need turns now. A driver that shares a device out in time slices of its own serves programs
// that enqueue much and wait seldom as well as turns do, and without what turns cost; it does not serve those that wait for each
// of their short kernels (a time slice of everybody else before each of them), several that launch long kernels, and whoever
// should have more or less than the others. So where the driver does that, turns are taken only while somebody needs them:
//
//   - always, for its settings: a weight, a class, a cap or a tenant of its own, or because turns were asked for;
//   - for a time, for what it does: it waits for short kernels (WorkNeed), or launches what has not been measured yet;
//   - for a time, if another participant does the same: it makes long launches that can be cut finely.
//
// A need for a time lapses by itself, so that a process that is stopped or rests keeps nobody in turns.
//
// Not thread-safe. No clock, no allocation.
#pragma once

#include <optional>

#include "turns/state.h"

namespace cleave::turns {

enum class Need : std::uint8_t { none, unknown, waits, long_launches };

// How long a need lasts that has just shown: what has not been measured is soon known, and a program that waits for its kernels
// may rest between its requests.
[[nodiscard]] constexpr Ns duration_of(Need need) {
  switch (need) {
    case Need::unknown:
      return 50'000'000;
    case Need::waits:
      return 5'000'000'000;
    case Need::long_launches:
      return 2'000'000'000;
    case Need::none:
      break;
  }
  return 0;
}

// Requires: need is not none, `slot` is within the array. Returns whether others have to be told, since the need had lapsed, or will
// have when they read this.
bool renew(View state, std::uint32_t slot, Need need, Ns now);

// Until when turns are needed as things stand: `now` or earlier, not at all; without a time, until somebody leaves.
struct NeededUntil {
  bool always = false;
  Ns until = 0;

  [[nodiscard]] bool includes(Ns now) const { return always || until > now; }
};
[[nodiscard]] NeededUntil needed_until(const View& state);

// Not everything that is launched can be measured. So what is not known counts for a while only, and again after a time without
// anything unknown.
class UnknownNeed {
 public:
  static constexpr Ns kLongest = 5'000'000'000;
  static constexpr Ns kForgotten = 30'000'000'000;

  // Something unknown is launched. Whether that is a need.
  bool counts(Ns now);

 private:
  Ns began_ = 0;
  Ns latest_ = -kForgotten;
};

// Finds out, from a process's launches and waits, whether it waits for short kernels one by one: little but a wait between
// two launches, and that often.
class WorkNeed {
 public:
  // So few launches of one wait, that take so little together, so soon after the wait before, are a link of a chain; so many links
  // within `kPeriod` are a need.
  static constexpr unsigned kMostLaunches = 2;
  static constexpr Ns kShortWork = 1'500'000;
  static constexpr Ns kSoon = 500'000;
  static constexpr unsigned kLinks = 16;
  static constexpr Ns kPeriod = 1'000'000'000;

  // A launch that takes `expected` is made. `waited`: when the latest wait since the launch before ended; empty if there was none.
  // Returns whether the need has shown in the present period.
  bool launched(Ns expected, std::optional<Ns> waited, Ns now);

 private:
  unsigned launches_ = 0;  // since the latest wait
  Ns work_ = 0;            // of these
  unsigned links_ = 0;     // in the present period
  Ns period_ = 0;          // when it began
};

}  // namespace cleave::turns
