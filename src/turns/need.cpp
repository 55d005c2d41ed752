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

void withdraw(View state, std::uint32_t slot, Ns now) {
  Ns& until = state.participants[slot].needs_until;
  until = std::min(until, now);
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

WorkNeed::Verdict WorkNeed::launched(const Launch& launch, Ns now) {
  if (now - period_ > kPeriod) {
    period_ = now;
    links_ = 0;
    without_ = {};
  }
  Verdict verdict = Verdict::unchanged;
  if (launch.waits) {
    const unsigned launches = std::exchange(launches_, 0);
    const Ns work = std::exchange(work_, 0);
    const bool is_known = std::exchange(is_known_, true);
    if (launches != 0 && launches <= kMostLaunches && work < kPerhapsShort) {
      if (now - launch.waits->latest <= kSoon) ++links_;
      if (is_known) verdict = note(launch, work, now);
    }
  }
  if (launches_++ == 0) {
    first_ = now;
    turn_waits_ = launch.turn_waits;
  }
  work_ += launch.expected;
  is_known_ &= launch.expected > 0;
  if (!has_need_ && links_ >= kLinks && now >= pauses_until_ && without_.is_costly()) try_turns(now);
  const bool needs_turns = has_need_ && links_ >= (has_helped_ ? kLinksAgain : kLinks);
  return needs_turns ? Verdict::needs_turns : verdict;
}

void WorkNeed::try_turns(Ns now) {
  has_need_ = true;
  has_helped_ = false;
  needed_since_ = undecided_since_ = now;
  wait_without_ = without_.mean();
  trial_ = {};
}

// The launches before `next` have been waited for.
WorkNeed::Verdict WorkNeed::note(const Launch& next, Ns work, Ns now) {
  if (has_need_ && now - needed_since_ > kValid) {
    has_need_ = false;
    without_ = {};
  }
  const Ns took = std::clamp<Ns>(next.waits->first - first_, 0, kLongest);
  if (!next.in_turns) {
    note_without(took, work, now);
  } else if (has_need_) {
    ++trial_.waits;
    trial_.sum += took;
    trial_.turns += std::min(next.turn_waits - turn_waits_, kMostOfOne * wait_without_);
    return judge(now);
  }
  return Verdict::unchanged;
}

void WorkNeed::note_without(Ns took, Ns work, Ns now) {
  if (has_need_) {  // the program has rested, or will take turns now
    undecided_since_ = now;
    trial_ = {};
  }
  ++without_.waits;
  without_.sum += took;
  if (took >= kCostly + (work <= kShortWork ? work : 0)) ++without_.costly;
}

WorkNeed::Verdict WorkNeed::judge(Ns now) {
  const Ns without = wait_without_ * static_cast<Ns>(kTrial);
  const bool is_over = trial_.waits == kTrial;
  if (is_over && trial_.sum * 100 <= without * kHelpful) {
    pause_ = kFirstPause;
    has_helped_ = true;
    undecided_since_ = now;
  } else if (trial_.turns >= without || (is_over && now - undecided_since_ > kUndecided)) {
    has_need_ = false;
    pauses_until_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
    return Verdict::does_not_help;
  }
  if (is_over) trial_ = {};
  return Verdict::unchanged;
}

}  // namespace cleave::turns
