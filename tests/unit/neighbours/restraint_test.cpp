// The control loop in virtual time, with pressure that is known: steps, ramps, noise, long launches, two jobs.

#include "neighbours/restraint.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/unit/neighbours/restraint_host.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;

TEST(Restraint, SlicesDoubleWithEachLevelUpToTheBudgets) {
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

// What is within the target without the job may exceed it when the job's own waits spin.
TEST(Restraint, BeginsWithSleepingWaitsCloseToTheTarget) {
  for (const auto& [pressure, expected] : {std::pair{0.01, 0U}, {0.02, 1U}, {0.03, 1U}}) {
    RestraintControl control(0.03, 0);
    control.update(std::nullopt, 0s);
    control.update(pressure, 1s);
    EXPECT_EQ(control.restraint(), expected) << pressure;
    control.used(1s);
    control.update(pressure, 2s);
    EXPECT_EQ(control.restraint(), expected) << pressure;
  }
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
  EXPECT_EQ(control.next_update(), now + RestraintControl::kSettle) << "whether it gained nothing";
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
