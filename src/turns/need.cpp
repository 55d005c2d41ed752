#include "turns/need.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cleave::turns {
namespace {

// From the time of a step over the file until others can read it.
constexpr Ns kSlowestUpdate = 100'000'000;

constexpr Ns kPieceUnit = 125'000;

// The weight of the latest wait in the share of those behind which the program rests.
constexpr double kLatestRest = 1.0 / 16;

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

void show_piece(View state, std::uint32_t slot, Ns wait, Ns now) {
  Participant& p = state.participants[slot];
  const Ns units = (std::max<Ns>(wait, 0) + kPieceUnit - 1) / kPieceUnit;
  const auto piece = static_cast<std::uint8_t>(std::min<Ns>(units, std::numeric_limits<std::uint8_t>::max()));
  p.piece = piece;
  p.coarse_until = now + kPieceLasts;
}

Ns longest_piece_of_others(const View& state, std::uint32_t slot, Ns now) {
  Ns longest = 0;
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    const Participant& p = state.participants[other];
    if (other != slot && p.nonce != 0 && p.coarse_until > now)
      longest = std::max(longest, p.piece * kPieceUnit);
  }
  return longest;
}

void show_busy(View state, std::uint32_t slot, Ns now) {
  state.participants[slot].busy_until = now + kBusyLasts;
}

std::uint64_t busy_others(const View& state, std::uint32_t slot, Ns now) {
  std::uint64_t busy = 0;
  for (std::uint32_t other = 0; other < state.header.slots; ++other) {
    const Participant& p = state.participants[other];
    if (other == slot || p.nonce == 0 || p.busy_until == 0) continue;
    if (p.busy_until > now || p.asks != 0) busy ^= p.nonce;
  }
  return busy;
}

std::optional<Ns> ShownPiece::note(Ns wait, Ns now) {
  const bool is_longest = wait >= longest_ || now - longest_at_ >= kPieceLasts;
  const bool is_known = wait <= longest_ && now - told_at_ < kPieceLasts / 2;
  const bool is_shorter = is_longest && wait < longest_;
  if (is_longest) {
    longest_ = wait;
    longest_at_ = now;
  }
  if (is_known && !is_shorter) return std::nullopt;
  told_at_ = now;
  return longest_;
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
    links_ = waits_without_ = 0;
  }
  const Ns since_launch = now - std::exchange(launched_at_, now);
  const bool has_rested = std::exchange(resumes_, false) || since_launch > kRest;
  used_ += std::min(since_launch, kRest);
  Verdict verdict = Verdict::unchanged;
  if (has_need_ && !has_helped_ && now - needed_since_ > kLongestTrial) {
    give_up(now);
    verdict = Verdict::does_not_help;
  } else if (has_need_ && used_ > kValid) {
    has_need_ = false;
    waits_without_ = 0;
  }
  if (launch.waits) {
    const unsigned launches = std::exchange(launches_, 0);
    const Ns work = std::exchange(work_, 0);
    const bool is_known = std::exchange(is_known_, true);
    if (launches != 0 && launches <= kMostLaunches && is_known && work < kPerhapsShort &&
        launch.waits->first >= first_) {
      if (now - launch.waits->latest <= kSoon) ++links_;
      // Whatever the program has waited for meanwhile, it did not keep the device.
      const bool gave_away = now - launch.waits->first > kSoon;
      rests_ += ((gave_away ? 1 : 0) - rests_) * kLatestRest;
      if (verdict == Verdict::unchanged) verdict = note(launch, work, now);
    }
  }
  if (launches_++ == 0) {
    first_ = now;
    turn_waits_ = launch.turn_waits;
    in_turns_ = launch.in_turns;
  }
  work_ += launch.expected;
  is_known_ &= launch.expected > 0;
  if (!has_need_ && links_ >= kLinks && now >= pauses_until_ && is_costly_without()) try_turns(now);
  // Before it waits: its first waits would be without turns.
  const bool will_wait = has_rested && is_known_ && launch.expected < kPerhapsShort;
  const bool needs_turns = has_need_ && (has_helped_ ? will_wait || shows_again() : links_ >= kLinks);
  return needs_turns ? unless_hopeless(launch.piece, verdict, now) : verdict;
}

void WorkNeed::resume(Ns now) {
  launches_ = links_ = waits_without_ = 0;
  work_ = 0;
  is_known_ = resumes_ = true;
  period_ = launched_at_ = needed_since_ = undecided_since_ = now;
  trial_ = {};
}

// The need shows, unless turns cannot help. The others are told once that it does not any more.
WorkNeed::Verdict WorkNeed::unless_hopeless(Ns piece, Verdict otherwise, Ns now) {
  const bool could_help = !std::exchange(cannot_help_, !can_help(piece));
  if (cannot_help_) {
    if (!has_helped_) has_need_ = false;  // nothing was tried
    return could_help ? Verdict::does_not_help : otherwise;
  }
  if (!could_help) {
    needed_since_ = undecided_since_ = now;
    used_ = 0;
    trial_ = {};
  }
  return Verdict::needs_turns;
}

bool WorkNeed::can_help(Ns piece) const {
  return rests_ * static_cast<double>(piece) * 100 <= static_cast<double>(wait_without_ * kHelpful);
}

bool WorkNeed::is_costly_without() const {
  const auto costly =
      std::count_if(without_.begin(), without_.end(), [](const Wait& wait) { return wait.is_costly; });
  return waits_without_ >= kLinks && 2 * static_cast<unsigned>(costly) >= kLinks;
}

// Of the latest ones in this period, without turns; 0 if there are none.
Ns WorkNeed::mean_of_latest() const {
  const Ns count = std::min(waits_without_, kLinks);
  Ns sum = 0;
  for (Ns i = 0; i < count; ++i)
    sum += std::min(without_[static_cast<std::size_t>(i)].took, kMostOfOne * wait_without_);
  return count != 0 ? sum / count : 0;
}

bool WorkNeed::shows_again() const {
  return links_ >= kLinksAgain && (waits_without_ == 0 || mean_of_latest() * 100 >= mean_without_ * kHelpful);
}

void WorkNeed::try_turns(Ns now) {
  auto sorted = without_;
  const auto middle = sorted.begin() + kLinks / 2;
  std::nth_element(sorted.begin(), middle, sorted.end(),
                   [](const Wait& a, const Wait& b) { return a.took < b.took; });
  wait_without_ = middle->took;
  mean_without_ = mean_of_latest();
  has_need_ = true;
  has_helped_ = false;
  needed_since_ = undecided_since_ = now;
  used_ = 0;
  trial_ = {};
}

void WorkNeed::give_up(Ns now) {
  has_need_ = false;
  pauses_until_ = now + pause_;
  pause_ = std::min(2 * pause_, kMostPause);
}

// The launches before `next` have been waited for.
WorkNeed::Verdict WorkNeed::note(const Launch& next, Ns work, Ns now) {
  const Ns took = next.waits->first - first_;
  if (in_turns_ != next.in_turns) return Verdict::unchanged;
  if (!next.in_turns) {
    note_without({took, took >= kCostly + (work <= kShortWork ? work : 0)}, now);
  } else if (has_need_) {
    ++trial_.waits;
    trial_.took += std::min(took, kMostOfOne * wait_without_);
    trial_.turns += std::min(next.turn_waits - turn_waits_, kMostOfOne * wait_without_);
    return judge(now);
  }
  return Verdict::unchanged;
}

void WorkNeed::note_without(Wait wait, Ns now) {
  without_[waits_without_++ % kLinks] = wait;
  if (!has_need_ || !has_helped_) return;
  // The program has rested, and the others have launched something without turns meanwhile.
  undecided_since_ = now;
  trial_ = {};
}

WorkNeed::Verdict WorkNeed::judge(Ns now) {
  const Ns without = wait_without_ * static_cast<Ns>(kTrial);
  const bool takes_long = trial_.took * 100 > without * kHelpful;
  if (trial_.turns >= without || (takes_long && now - undecided_since_ > kUndecided)) {
    give_up(now);
    return Verdict::does_not_help;
  }
  if (trial_.waits < kTrial) return Verdict::unchanged;
  if (!takes_long) {
    has_helped_ = true;
    undecided_since_ = now;
    pause_ = kFirstPause;
  }
  trial_ = {};
  return Verdict::unchanged;
}

}  // namespace cleave::turns
