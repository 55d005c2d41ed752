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
  bottom_ = {};  // of a load that may be another by then
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
  if (level_ == kMaxRestraint) return give_up_in_vain(pressure, now);
  if (is_resting(pressure, now)) {
    next_ = rest_end_;
    return;
  }
  if (raised_ && bottom_.level == 0) bottom_ = {level_, pressure, now};
  const auto doublings = static_cast<unsigned>(std::clamp(std::log2(pressure / target_), 0.0, 10.0));
  step_up(std::min(1 + doublings, kMaxStep), now);
}

void RestraintControl::step_up(unsigned levels, base::Nanoseconds now) {
  level_ = std::min(level_ + levels, kMaxRestraint);
  raised_ = true;
  next_ = now + kSettle;
}

// If nothing has been gained since the bottom of this climb: back to it.
void RestraintControl::give_up_in_vain(double pressure, base::Nanoseconds now) {
  if (bottom_.level == 0 || now - bottom_.at > kFresh) return;
  if (pressure <= bottom_.pressure * (1 - kGain * (kMaxRestraint - bottom_.level))) return;
  level_ = bottom_.level;
  rest_pressure_ = bottom_.pressure;
  rest_end_ = next_ = now + std::chrono::duration_cast<base::Nanoseconds>(rest_ * spread_);
  rest_ = std::min(2 * rest_, kMaxPause);
  bottom_ = {};
}

// Whether the pressure is still what raising did nothing about. If it is another, the rests begin anew.
bool RestraintControl::is_resting(double pressure, base::Nanoseconds now) {
  if (rest_pressure_ <= 0 || now >= rest_end_) return false;
  const bool same = pressure <= kOtherLoad * rest_pressure_;
  if (!same) forget_climb();
  return same;
}

void RestraintControl::forget_climb() {
  bottom_ = {};
  rest_pressure_ = 0;
  rest_ = kFirstRest;
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
