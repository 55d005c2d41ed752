// The restraint while the pressure is not known: at the start, in short gaps, when the monitor has fallen silent.

#include <gtest/gtest.h>

#include "neighbours/restraint.h"
#include "tests/unit/neighbours/restraint_host.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;

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

// At a program's start. Else each would begin with all restraint.
TEST(Restraint, IsLowUntilTheMonitorHasHadTimeToAnswer) {
  UsedAtOnce answered(kTarget, 0);
  Nanoseconds now = 100s;
  answered.update(std::nullopt, now);
  EXPECT_EQ(answered.restraint(), kFirstSlicing);
  EXPECT_EQ(answered.next_update(), now + RestraintControl::kHold);
  answered.update(0.01, now += 1s);
  EXPECT_EQ(answered.restraint(), 0U);

  UsedAtOnce silent(kTarget, 0);
  silent.update(std::nullopt, now);
  silent.update(std::nullopt, now += RestraintControl::kHold - 1ns);
  EXPECT_EQ(silent.restraint(), kFirstSlicing);
  silent.update(std::nullopt, now = silent.next_update());
  EXPECT_EQ(silent.restraint(), kMaxRestraint);
  EXPECT_EQ(silent.next_update(), Nanoseconds::max());
  silent.update(std::nullopt, now += 1s);
  EXPECT_EQ(silent.restraint(), kMaxRestraint);
  silent.update(1.1 * kTarget, now += 1s);
  EXPECT_EQ(silent.restraint(), 1U);
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

}  // namespace
}  // namespace cleave::neighbours
