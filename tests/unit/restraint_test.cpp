// The control loop in virtual time, with a host that answers as the monitor's does: pressure that follows the restraint in
// force, smoothed over a second, sampled twice a second and sent in steps of a twentieth, or of five thousandths.

#include "neighbours/restraint.h"

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;

constexpr double kTarget = 0.03;
constexpr Nanoseconds kSample = 500ms;
constexpr double kStep = 0.005;  // the least change that is sent

class Host {
 public:
  // The pressure, before it is smoothed, of a restraint at a time.
  using Load = std::function<double(unsigned restraint, Nanoseconds now)>;

  // The job's launches take that long each, one after the other; 0: less than a sample.
  explicit Host(Load load, std::uint64_t seed = 0, Nanoseconds launch = 0s)
      : load_(std::move(load)), control_(kTarget, seed), launch_(launch) {}

  void run(Nanoseconds length) {
    for (const Nanoseconds end = now_ + length; now_ < end; now_ += kSample) sample();
  }

  // The monitor falls silent, or speaks again.
  void silence(bool silent) { silent_ = silent; }

  // Another load from now on.
  void set(Load load) { load_ = std::move(load); }

  struct Moment {
    Nanoseconds at{0};
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
  [[nodiscard]] Summary since(Nanoseconds from) const {
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

  [[nodiscard]] Nanoseconds now() const { return now_; }

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
    // Between two samples the loop is called when it asked for it.
    if (control_.next_update() < now_) control_.update(known(), control_.next_update());
    if (!silent_) last_ = sent_;
    control_.update(known(), now_);
    history_.push_back({now_, launch_ == 0s ? control_.restraint() : in_force_, x});
  }

  [[nodiscard]] std::optional<double> known() const { return silent_ ? std::nullopt : std::optional(last_); }

  Load load_;
  RestraintControl control_;
  const Nanoseconds launch_;
  Nanoseconds now_ = 100s;
  Nanoseconds next_launch_ = now_;
  unsigned in_force_ = kMaxRestraint;
  double smoothed_ = 0;
  double sent_ = 0;
  double last_ = 0;
  bool silent_ = false;
  std::vector<Moment> history_;
};

// Pressure that falls by a third with each level.
double gradual(unsigned restraint, double without) { return without * std::pow(2.0 / 3, restraint); }

TEST(Restraint, SlicesGrowInEvenRatiosUpToTheBudgets) {
  const std::size_t expected[] = {1, 1, 2, 4, 8, 16, 32, 64};
  for (unsigned level = 0; level <= kMaxRestraint; ++level) EXPECT_EQ(slices_at(level, 64), expected[level]);
  for (const std::size_t most : {1U, 2U, 3U, 5U, 16U, 1000U, 1'000'000U}) {
    EXPECT_EQ(slices_at(0, most), 1U);
    EXPECT_EQ(slices_at(kMaxRestraint, most), most);
    for (unsigned level = 0; level < kMaxRestraint; ++level) {
      EXPECT_LE(slices_at(level, most), slices_at(level + 1, most));
      EXPECT_LE(slices_at(level, most), most);
    }
  }
}

TEST(Restraint, NoneWhileTheNeighboursLackNothing) {
  Host host([](unsigned, Nanoseconds) { return 0.01; });
  EXPECT_EQ(host.restraint(), kMaxRestraint) << "nothing is known yet";
  host.run(10min);
  EXPECT_EQ(host.since(0s).highest, 0U);
}

TEST(Restraint, StepIsAnsweredWithinTwoSecondsAndReleased) {
  double without = 0;
  Host host([&](unsigned restraint, Nanoseconds) { return gradual(restraint, without); });
  host.run(1min);
  EXPECT_EQ(host.restraint(), 0U);
  without = 0.2;  // met from level 5 on
  host.run(2s);
  EXPECT_GE(host.restraint(), 2U) << "slices change";
  host.run(RestraintControl::kSettle * kMaxRestraint);
  const Nanoseconds met = host.now();
  host.run(1h);
  const auto loaded = host.since(met);
  EXPECT_GE(loaded.lowest, 4U);
  EXPECT_LE(loaded.highest, 5U + RestraintControl::kMaxStep - 1);
  EXPECT_LT(loaded.exceeded, 0.03);
  without = 0;
  host.run(2min);
  EXPECT_EQ(host.restraint(), 0U);
}

// From each start, for gradual and sudden effects, and for levels that cannot be told from the target.
TEST(Restraint, ConstantLoadMovesItWithinOneLevel) {
  for (const double steepness : {0.95, 0.8, 0.5, 0.05, 0.0}) {
    for (const double without : {0.033, 0.05, 0.1, 0.3, 1.0}) {
      for (const std::uint64_t seed : {0U, 511U, 1023U}) {
        const auto pressure = [&](unsigned restraint) { return without * std::pow(steepness, restraint); };
        Host host([&](unsigned restraint, Nanoseconds) { return pressure(restraint); }, seed);
        host.run(20min);  // time for the pauses to grow
        const Nanoseconds from = host.now();
        host.run(2h);
        const auto settled = host.since(from);
        EXPECT_LE(settled.highest - settled.lowest, 1U) << steepness << ' ' << without;
        unsigned needed = 0;
        while (needed < kMaxRestraint && pressure(needed) > kTarget) ++needed;
        if (pressure(settled.highest) > kTarget) {
          EXPECT_TRUE(settled.highest == kMaxRestraint || pressure(settled.highest) < kTarget + kStep)
              << "as exact as what is published";
        }
        // No more than needed but for the band between release and target.
        if (settled.lowest > needed) {
          EXPECT_GE(pressure(settled.lowest), 0.9 * RestraintControl::kRelease * kTarget)
              << steepness << ' ' << without;
        }
        if (pressure(kMaxRestraint) <= kTarget) {
          EXPECT_LT(settled.exceeded, 0.017) << steepness << ' ' << without;
        }
        EXPECT_LE(settled.changes, 2 * 7200U / 192) << steepness << ' ' << without;
      }
    }
  }
}

// A level holds from the next launch on, and what the pressure is until then says nothing of it.
TEST(Restraint, LongLaunchesDoNotMakeItOscillate) {
  for (const Nanoseconds launch : {2s, 5s, 30s, 120s}) {
    for (const double steepness : {0.9, 0.67, 0.05}) {
      for (const double without : {0.05, 0.1, 0.3}) {
        const auto pressure = [&](unsigned restraint) { return without * std::pow(steepness, restraint); };
        Host host([&](unsigned restraint, Nanoseconds) { return pressure(restraint); }, 0, launch);
        host.run(1h);
        const Nanoseconds from = host.now();
        host.run(3h);
        const auto settled = host.since(from);
        EXPECT_LE(settled.highest - settled.lowest, 1U)
            << launch.count() << ' ' << steepness << ' ' << without;
        EXPECT_TRUE(settled.highest == kMaxRestraint || pressure(settled.highest) <= kTarget + kStep);
        // In each of the longest pauses a launch as a probe, and what passes until it is noticed and has ended.
        const double pause = std::chrono::duration<double>(RestraintControl::kMaxPause).count();
        const double probe = std::chrono::duration<double>(launch + RestraintControl::kSettle).count();
        EXPECT_TRUE(settled.exceeded < probe / (pause + probe) || pressure(kMaxRestraint) > kTarget);
      }
    }
  }
}

// Else every level would be tried within one launch, and none of them be in force.
TEST(Restraint, NothingButAFirstRaiseHappensBeforeALaunch) {
  RestraintControl control(kTarget, 0);
  Nanoseconds now = 100s;
  control.update(1.1 * kTarget, now);
  ASSERT_EQ(control.restraint(), 1U);
  for (int i = 0; i < 100; ++i) control.update(1.1 * kTarget, now += 1s);
  EXPECT_EQ(control.restraint(), 1U);
  EXPECT_EQ(control.next_update(), Nanoseconds::max());
  control.used(now);
  control.update(1.1 * kTarget, now += RestraintControl::kSettle - 1ns);
  EXPECT_EQ(control.restraint(), 1U);
  EXPECT_EQ(control.next_update(), now + 1ns);
  control.update(1.1 * kTarget, now += 1ns);
  EXPECT_EQ(control.restraint(), 2U);
  for (int i = 0; i < 100; ++i) control.update(0.0, now += 1s);
  EXPECT_EQ(control.restraint(), 2U);
  control.used(now);
  control.update(0.0, now);
  control.update(0.0, now = control.next_update());
  EXPECT_EQ(control.restraint(), 1U) << "a probe";
  control.update(1.1 * kTarget, now += 1s);
  EXPECT_EQ(control.restraint(), 2U) << "not by the probe, which is not in force";
  control.used(now);
  control.update(0.0, now += 1s);
  const Nanoseconds pause = control.next_update() - (now - 1s);
  EXPECT_LE(pause, RestraintControl::kFirstPause + 1s) << "it has not failed";
}

TEST(Restraint, FollowsARamp) {
  Host host([](unsigned restraint, Nanoseconds now) {
    // From nothing to 0.3 and back, within twenty minutes.
    const double minutes = std::chrono::duration<double>(now - 100s).count() / 60;
    return gradual(restraint, 0.3 * std::max(0.0, 1 - std::abs(minutes - 10) / 10));
  });
  host.run(10min);
  EXPECT_EQ(host.restraint(), 6U);
  EXPECT_LT(host.since(0s).exceeded, 0.05);
  host.run(13min);
  EXPECT_EQ(host.restraint(), 0U);
}

TEST(Restraint, NoiseMovesItLittle) {
  for (const double noise : {0.05, 0.15, 1.0}) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal(0, noise);
    Host host([&](unsigned restraint, Nanoseconds) {
      return std::clamp(gradual(restraint, 0.1) * (1 + normal(random)), 0.0, 1.0);  // met from level 3 on
    });
    host.run(20min);
    const Nanoseconds from = host.now();
    host.run(2h);
    const auto settled = host.since(from);
    if (noise < 0.2) {
      EXPECT_LE(settled.highest - settled.lowest, 1U) << noise;
      EXPECT_LE(settled.changes, 2 * 7200U / 192) << noise;
    }
    EXPECT_GE(settled.highest, 3U) << noise;
    EXPECT_LE(settled.changes, 7200U / 6) << noise;
  }
}

// As a program that launches all the time has it.
class UsedAtOnce : public RestraintControl {
 public:
  using RestraintControl::RestraintControl;
  void update(std::optional<double> pressure, Nanoseconds now) {
    RestraintControl::update(pressure, now);
    used(now);
  }
};

// The monitor sends nothing while the pressure stays the same.
TEST(Restraint, SteadyPressureAboveTheTargetRaisesItToTheMost) {
  UsedAtOnce control(kTarget, 0);
  Nanoseconds now = 100s;
  control.update(1.1 * kTarget, now);
  for (unsigned level = 1; level < kMaxRestraint; ++level) {
    EXPECT_EQ(control.restraint(), level);
    ASSERT_EQ(control.next_update(), now + RestraintControl::kSettle);
    now = control.next_update();
    control.update(1.1 * kTarget, now);
  }
  EXPECT_EQ(control.restraint(), kMaxRestraint);
  EXPECT_EQ(control.next_update(), Nanoseconds::max());
}

TEST(Restraint, RaisesAgainAfterAProbeThatFailed) {
  UsedAtOnce control(kTarget, 0);
  Nanoseconds now = 100s;
  control.update(1.1 * kTarget, now);
  control.update(1.1 * kTarget, now += 3s);
  control.update(0.0, now += 1s);
  control.update(0.0, now = control.next_update());
  ASSERT_EQ(control.restraint(), 1U) << "a probe";
  control.update(1.1 * kTarget, now += 1s);
  ASSERT_EQ(control.restraint(), 2U);
  control.update(1.1 * kTarget, now = control.next_update());
  EXPECT_EQ(control.restraint(), 3U);
}

TEST(Restraint, ShortSilencesMoveNothing) {
  UsedAtOnce control(kTarget, 0);
  Nanoseconds now = 100s;
  control.update(0.01, now);
  for (int i = 0; i < 60; ++i) {
    control.update(i % 2 == 0 ? std::nullopt : std::optional(0.01), now += 1s);
    EXPECT_EQ(control.restraint(), 0U) << i;
  }
  control.update(std::nullopt, now);
  EXPECT_EQ(control.next_update(), now + RestraintControl::kHold);
  control.update(std::nullopt, now + RestraintControl::kHold - 1ns);
  EXPECT_EQ(control.restraint(), 0U);
  control.update(std::nullopt, control.next_update());
  EXPECT_EQ(control.restraint(), kMaxRestraint);
  EXPECT_EQ(control.next_update(), Nanoseconds::max());
}

// It would reset the pause of the level, which had doubled.
TEST(Restraint, SilenceIsNoSuccessOfAProbe) {
  UsedAtOnce control(kTarget, 0);
  Nanoseconds now = 100s;
  const auto probe = [&] {
    control.update(0.5 * kTarget, now += 1s);
    const Nanoseconds pause = control.next_update() - now;
    control.update(0.5 * kTarget, now = control.next_update());
    EXPECT_EQ(control.restraint(), 0U);
    return pause;
  };
  control.update(1.1 * kTarget, now);
  EXPECT_EQ(probe(), RestraintControl::kFirstPause);
  control.update(1.1 * kTarget, now += 1s);
  EXPECT_EQ(probe(), 2 * RestraintControl::kFirstPause);
  control.update(std::nullopt, now += 1s);
  control.update(0.7 * kTarget, now += RestraintControl::kProbation);
  control.update(1.1 * kTarget, now += 10s);
  ASSERT_EQ(control.restraint(), 1U);
  EXPECT_EQ(probe(), 2 * RestraintControl::kFirstPause);
}

TEST(Restraint, SilentMonitorMeansTheBudgetUntilItSpeaks) {
  Host host([](unsigned restraint, Nanoseconds) { return gradual(restraint, 0.06); });
  host.run(10min);
  const unsigned before = host.restraint();
  EXPECT_EQ(before, 2U);
  host.silence(true);
  host.run(5min);
  EXPECT_EQ(host.restraint(), kMaxRestraint);
  host.silence(false);
  host.run(1min);
  EXPECT_LE(host.since(host.now() - 1min).highest, before + RestraintControl::kMaxStep);
  EXPECT_EQ(host.restraint(), before);
}

// Two jobs whose restraints add up.
TEST(Restraint, TwoJobsShareTheEffort) {
  UsedAtOnce one(kTarget, 3);
  UsedAtOnce two(kTarget, 900);
  double smoothed = 0;
  unsigned changes = 0;
  unsigned exceeded = 0;
  for (int i = 0; i < 4 * 3600; ++i) {
    const Nanoseconds now = 100s + i * kSample;
    const double x = 0.2 * std::pow(0.75, one.restraint() + two.restraint());
    smoothed += (1 - std::exp(-0.5)) * (x - smoothed);
    const unsigned before = one.restraint() + two.restraint();
    for (UsedAtOnce* control : {&one, &two}) control->update(smoothed, now);
    if (i < 1200) continue;
    changes += before != one.restraint() + two.restraint() ? 1 : 0;
    exceeded += x > kTarget ? 1 : 0;
  }
  EXPECT_LT(exceeded, 4 * 3600 / 30);
  EXPECT_LE(changes, 4U * 7200 / 192);
}

}  // namespace
}  // namespace cleave::neighbours
