#include "turns/need.h"

#include <algorithm>
#include <utility>

namespace cleave::turns {
namespace {

// From the time of a step over the file until others can read it.
constexpr Ns kSlowestUpdate = 100'000'000;

}  // namespace

bool UnknownNeed::counts(Ns now) {
  if (now - latest_ >= kForgotten) began_ = now;
  latest_ = now;
  return now - began_ <= kLongest;
}

bool renew(View state, std::uint32_t slot, Need need, Ns now) {
  Participant& p = state.participants[slot];
  Ns& until = need == Need::long_launches ? p.long_until : p.needs_until;
  const bool had_lapsed = until <= now + kSlowestUpdate;
  until = std::max(until, now + duration_of(need));
  return had_lapsed;
}

NeededUntil needed_until(const View& state) {
  NeededUntil needed;
  Ns longest = 0;  // of two or more that make long launches, as long as two of them do
  Ns second = 0;
  for (const Participant& p : state.participants.first(state.header.slots)) {
    if (p.nonce == 0) continue;
    needed.always |= p.needs != 0;
    needed.until = std::max(needed.until, p.needs_until);
    second = std::max(second, std::min(longest, p.long_until));
    longest = std::max(longest, p.long_until);
  }
  needed.until = std::max(needed.until, second);
  return needed;
}

bool WorkNeed::launched(Ns expected, std::optional<Ns> waited, Ns now) {
  if (now - period_ > kPeriod) {
    period_ = now;
    links_ = 0;
  }
  if (waited) {
    const unsigned launches = std::exchange(launches_, 0);
    const bool are_short = std::exchange(work_, 0) <= kShortWork;
    if (launches != 0 && launches <= kMostLaunches && are_short && now - *waited <= kSoon) ++links_;
  }
  ++launches_;
  work_ += expected;
  return links_ >= kLinks;
}

}  // namespace cleave::turns
