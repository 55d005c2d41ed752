#include "neighbours/restraint.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cleave::neighbours {

std::size_t slices_at(unsigned restraint, std::size_t most) {
  if (restraint < kFirstSlicing || most < 2) return 1;
  if (restraint >= kMaxRestraint) return most;
  return std::min(std::size_t{2} << (restraint - kFirstSlicing), most);
}

namespace {

// The least change of a pressure that is sure to be sent, as a share of it (monitor/hypervisor/pressure.h).
double resolution(double pressure) { return std::max(0.05, 0.005 / pressure); }

}  // namespace

RestraintControl::RestraintControl(double target, std::uint64_t seed)
    : target_(target), spread_(1 + static_cast<double>(seed % 1024) / 2048) {
  pauses_.fill(kFirstPause);
}

base::Nanoseconds RestraintControl::pause_of(unsigned level) const {
  return std::chrono::duration_cast<base::Nanoseconds>(pauses_[level] * spread_);
}

void RestraintControl::update(std::optional<double> pressure, base::Nanoseconds now) {
  const unsigned before = restraint();
  decide(pressure, now);
  if (restraint() != before) used_.reset();
}

void RestraintControl::used(base::Nanoseconds at) {
  if (!used_) used_ = at;
}

void RestraintControl::decide(std::optional<double> pressure, base::Nanoseconds now) {
  next_ = base::Nanoseconds::max();
  if (!pressure) return hold(now);
  if (!std::exchange(begun_, true) && *pressure >= kRelease * target_ && *pressure <= target_) level_ = 1;
  known_ = true;
  awaited_ = false;
  unknown_since_.reset();
  if (*pressure > target_) {
    low_since_.reset();
    return raise(*pressure, now);
  }
  forget_climb();
  judge_probe(now);
  if (*pressure >= kRelease * target_ || level_ == 0) {
    low_since_.reset();
    return;
  }
  lower(*pressure, now);
}

void RestraintControl::hold(base::Nanoseconds now) {
  low_since_.reset();
  probed_ = false;
  if (!unknown_since_) {
    unknown_since_ = now;
    awaited_ = !known_;
  }
  const base::Nanoseconds end = *unknown_since_ + kHold;
  if (now < end) {
    next_ = end;
    return;
  }
  known_ = awaited_ = false;
  forget_bottom();
}

void RestraintControl::raise(double pressure, base::Nanoseconds now) {
  if (std::exchange(probed_, false)) {
    // One that is not in force yet has not caused the pressure.
    const bool failed = used_ && now - *used_ < kProbation;
    if (failed) pauses_[level_] = std::min(2 * pauses_[level_], kMaxPause);
    if (failed || !used_) return step_up(1, now);
  }
  if (raised_ && !used_) return;
  if (raised_ && now - *used_ < kSettle) {
    next_ = *used_ + kSettle;
    return;
  }
  if (compared_) return judge_without_slices(pressure, now);
  if (is_in_vain(pressure, now)) return give_up(now);
  if (is_resting(pressure, now)) {
    next_ = rest_end_;
    return;
  }
  if (level_ == kMaxRestraint) return recheck_top(pressure, now);
  if (!std::exchange(new_load_, false) && bottom_.level == 0) bottom_ = {level_, pressure, now};
  const auto doublings = static_cast<unsigned>(std::clamp(std::log2(pressure / target_), 0.0, 10.0));
  step_up(std::min(1 + doublings, kMaxStep), now);
}

void RestraintControl::step_up(unsigned levels, base::Nanoseconds now) {
  level_ = std::min(level_ + levels, kMaxRestraint);
  raised_ = true;
  next_ = now + kSettle;
}

// Whether the levels above the bottom of this climb have gained nothing, as far as that shows by now. The first climb is not
// continued for a gain that could only come higher up; later ones are.
bool RestraintControl::is_in_vain(double pressure, base::Nanoseconds now) const {
  if (bottom_.level == 0 || level_ <= bottom_.level || now - bottom_.at > kFresh) return false;
  const double expected = kGain * (level_ - bottom_.level);
  if (pressure <= bottom_.pressure * (1 - expected)) return false;
  if (level_ == kMaxRestraint) return true;
  const bool same_load = pressure <= kOtherLoad * bottom_.pressure;
  return same_load && rest_pressure_ <= 0 && expected >= resolution(bottom_.pressure);
}

// A climb whose first level is unknown may have gained nothing, and a gain may have vanished with its load.
void RestraintControl::recheck_top(double pressure, base::Nanoseconds now) {
  if (top_pressure_ <= 0) top_pressure_ = pressure;
  if (bottom_.level != 0 && pressure <= kOtherLoad * top_pressure_) return;
  top_pressure_ = 0;
  bottom_ = {level_, pressure, now};
  give_up(now);
}

// Back to the bottom of this climb; first to sleeping waits alone, if they may do as well as its slices.
void RestraintControl::give_up(base::Nanoseconds now) {
  if (bottom_.level < kFirstSlicing) return rest_at(bottom_.level, bottom_.pressure, now);
  level_ = kFirstSlicing - 1;
  compared_ = true;
  next_ = now + kSettle;
}

void RestraintControl::judge_without_slices(double pressure, base::Nanoseconds now) {
  const bool worse = pressure > bottom_.pressure * (1 + kGain) || now - bottom_.at > kFresh;
  // Where launches are long, so is the time in which the neighbours did without what the top may gain.
  const base::Nanoseconds least =
      bottom_.level == kMaxRestraint ? kRecheckRest * (now - bottom_.at) : base::Nanoseconds(0);
  if (worse) return rest_at(bottom_.level, bottom_.pressure, now, least);
  rest_at(level_, pressure, now, least);
}

void RestraintControl::rest_at(unsigned level, double pressure, base::Nanoseconds now,
                               base::Nanoseconds least) {
  level_ = level;
  rest_pressure_ = pressure;
  rest_end_ = next_ = now + std::max(std::chrono::duration_cast<base::Nanoseconds>(rest_ * spread_), least);
  rest_ = std::min(2 * rest_, kMaxPause);
  bottom_ = {};
  top_pressure_ = 0;
  compared_ = false;
}

// Whether this is still the pressure that raising did not lower. If it has changed, the pauses start over. At the top
// there is nothing to raise, and a pressure that is still falling from its value at level 1 is no new load.
bool RestraintControl::is_resting(double pressure, base::Nanoseconds now) {
  if (rest_pressure_ <= 0 || now >= rest_end_) return false;
  const bool same = level_ == kMaxRestraint || pressure <= kOtherLoad * rest_pressure_;
  if (!same) forget_climb();
  return same;
}

void RestraintControl::forget_climb() {
  forget_bottom();
  rest_pressure_ = 0;
  rest_ = kFirstRest;
}

// It was that of a load that may be another by now.
void RestraintControl::forget_bottom() {
  bottom_ = {};
  top_pressure_ = 0;
  compared_ = false;
  new_load_ = true;
}

// A probe that has not failed within its probation has succeeded.
void RestraintControl::judge_probe(base::Nanoseconds now) {
  if (!probed_ || !used_ || now - *used_ < kProbation) return;
  probed_ = false;
  pauses_[level_] = kFirstPause;
}

void RestraintControl::lower(double pressure, base::Nanoseconds now) {
  if (!used_) return;
  const unsigned below = level_ - 1;
  if (!low_since_) low_since_ = now;
  if (pauses_[below] > kFirstPause && pressure < before_probe_ / 2) pauses_[below] = kFirstPause;
  const base::Nanoseconds due = std::max(*low_since_, *used_) + pause_of(below);
  if (now < due) {
    next_ = due;
    return;
  }
  level_ = below;
  before_probe_ = pressure;
  raised_ = false;
  probed_ = true;
  low_since_.reset();
  next_ = now + kProbation;
}

}  // namespace cleave::neighbours
