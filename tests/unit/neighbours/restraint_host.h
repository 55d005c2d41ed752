// A host in virtual time for tests of the restraint. It answers as the monitor's does: pressure that follows the restraint in
// force, smoothed over a second, sampled twice a second and sent in steps of a twentieth, or of five thousandths.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "neighbours/restraint.h"

namespace cleave::neighbours {

inline constexpr double kTarget = 0.03;
inline constexpr base::Nanoseconds kSample = std::chrono::milliseconds(500);
inline constexpr double kStep = 0.005;  // the least change that is sent

class Host {
 public:
  // The pressure, before it is smoothed, of a restraint at a time.
  using Load = std::function<double(unsigned restraint, base::Nanoseconds now)>;

  // The job's launches take that long each, one after the other; 0: less than a sample.
  explicit Host(Load load, std::uint64_t seed = 0, base::Nanoseconds launch = base::Nanoseconds(0))
      : load_(std::move(load)), control_(kTarget, seed), launch_(launch) {}

  void run(base::Nanoseconds length) {
    for (const base::Nanoseconds end = now_ + length; now_ < end; now_ += kSample) sample();
  }

  // The monitor falls silent, or speaks again.
  void silence(bool silent) { silent_ = silent; }

  // Another load from now on.
  void set(Load load) { load_ = std::move(load); }

  struct Moment {
    base::Nanoseconds at{0};
    unsigned restraint = 0;  // in force
    double pressure = 0;     // not smoothed
  };
  [[nodiscard]] const std::vector<Moment>& history() const { return history_; }
  [[nodiscard]] unsigned restraint() const { return control_.restraint(); }

  // Since `from`: the share of the time in which the pressure exceeded the target by more than is sent, how often the
  // restraint changed, its bounds.
  struct Summary {
    double exceeded = 0;
    unsigned changes = 0;
    unsigned lowest = kMaxRestraint;
    unsigned highest = 0;
  };
  [[nodiscard]] Summary since(base::Nanoseconds from) const {
    Summary summary;
    unsigned all = 0;
    const Moment* before = nullptr;
    for (const Moment& moment : history_) {
      if (moment.at < from) continue;
      ++all;
      if (moment.pressure > kTarget + kStep) summary.exceeded += 1;
      if (before != nullptr && before->restraint != moment.restraint) ++summary.changes;
      summary.lowest = std::min(summary.lowest, moment.restraint);
      summary.highest = std::max(summary.highest, moment.restraint);
      before = &moment;
    }
    summary.exceeded /= all;
    return summary;
  }

  [[nodiscard]] base::Nanoseconds now() const { return now_; }

 private:
  void sample() {
    if (now_ >= next_launch_) {
      in_force_ = control_.restraint();
      control_.used(now_);
      next_launch_ = now_ + launch_;
    }
    const double x = load_(in_force_, now_);
    smoothed_ += (1 - std::exp(-0.5)) * (x - smoothed_);
    const double rounded = std::round(smoothed_ * 1000) / 1000;
    if (rounded == 0 || std::abs(rounded - sent_) > std::max(kStep - 0.0005, sent_ / 20)) sent_ = rounded;
    // Between two samples the loop is called when it has requested that.
    if (control_.next_update() < now_) control_.update(known(), control_.next_update());
    if (!silent_) last_ = sent_;
    control_.update(known(), now_);
    history_.push_back({now_, launch_.count() == 0 ? control_.restraint() : in_force_, x});
  }

  [[nodiscard]] std::optional<double> known() const { return silent_ ? std::nullopt : std::optional(last_); }

  Load load_;
  RestraintControl control_;
  const base::Nanoseconds launch_;
  base::Nanoseconds now_ = std::chrono::seconds(100);
  base::Nanoseconds next_launch_ = now_;
  unsigned in_force_ = kMaxRestraint;
  double smoothed_ = 0;
  double sent_ = 0;
  double last_ = 0;
  bool silent_ = false;
  std::vector<Moment> history_;
};

// Pressure that falls by a third with each level.
inline double gradual(unsigned restraint, double without) { return without * std::pow(2.0 / 3, restraint); }

// As a program that launches all the time has it.
class UsedAtOnce : public RestraintControl {
 public:
  using RestraintControl::RestraintControl;
  void update(std::optional<double> pressure, base::Nanoseconds now) {
    RestraintControl::update(pressure, now);
    used(now);
  }
};

}  // namespace cleave::neighbours
