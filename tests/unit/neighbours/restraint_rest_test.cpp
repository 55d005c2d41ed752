// The restraint where no level meets the target.

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "neighbours/restraint.h"
#include "tests/unit/neighbours/restraint_host.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;

// The share of the time since then with at least that restraint.
double share_at(const Host& host, Nanoseconds from, unsigned least) {
  double all = 0;
  double at = 0;
  for (const Host::Moment& moment : host.history()) {
    if (moment.at < from) continue;
    all += 1;
    at += moment.restraint >= least ? 1 : 0;
  }
  return at / all;
}

// As of neighbours that want more processors than there are, whatever the job does.
TEST(RestraintRest, RaisesInVainAreTakenBack) {
  for (const double pressure : {0.033, 0.06, 0.5, 1.0}) {
    for (const double noise : {0.0, 0.03, 0.1}) {
      if (pressure * (1 - 3 * noise) < kTarget) continue;  // it is met now and then
      std::mt19937 random(7);
      std::normal_distribution<double> normal(0, noise);
      Host host([&](unsigned, Nanoseconds) { return pressure * (1 + normal(random)); });
      host.run(90s);
      EXPECT_TRUE(share_at(host, 0s, kMaxRestraint) > 0 || pressure < 0.05) << "it was tried";
      host.run(20min);
      const Nanoseconds from = host.now();
      host.run(2h);
      EXPECT_LT(share_at(host, from, kMaxRestraint), 0.05) << pressure << ' ' << noise;
      EXPECT_LT(share_at(host, from, 4), 0.15) << pressure << ' ' << noise;
      EXPECT_GE(host.since(from).lowest, 1U) << "sleeping waits cost nothing";
    }
  }
}

// What a climb costs the job is paid when it is clear that it gains nothing, not when the top has been reached.
TEST(RestraintRest, FirstClimbIsGivenUpAtItsFirstRaiseInVain) {
  for (const double pressure : {0.15, 0.5, 1.0}) {
    Host host([&](unsigned, Nanoseconds) { return pressure; });
    host.run(30s);
    EXPECT_EQ(host.restraint(), 1U) << "sleeping waits do as well as slices";
    EXPECT_LT(share_at(host, 0s, kFirstSlicing), 10.0 / 30) << pressure;
    EXPECT_LT(host.since(0s).highest, kMaxRestraint) << pressure;
  }
}

// As above, but the job disturbs its neighbours, and the first slices are all that can be done about that.
TEST(RestraintRest, SlicesThatGainSomethingAreKept) {
  for (const double without : {0.56, 0.7, 1.0}) {
    Host host([&](unsigned restraint, Nanoseconds) { return restraint < kFirstSlicing ? without : 0.5; });
    host.run(5min);
    const Nanoseconds from = host.now();
    host.run(1h);
    EXPECT_GT(share_at(host, from, kFirstSlicing), 0.97) << without;
    EXPECT_LT(share_at(host, from, 4), 0.15) << without;
  }
}

// Else a disturbance during a climb would make its last step the place to rest.
TEST(RestraintRest, LoadThatChangesDuringAClimbDoesNotRaiseTheRest) {
  double pressure = 0.5;
  Host host([&](unsigned, Nanoseconds) { return pressure; });
  const auto run_until = [&](unsigned restraint) {
    for (int i = 0; i < 1000 && host.restraint() != restraint; ++i) host.run(kSample);
    ASSERT_EQ(host.restraint(), restraint);
  };
  host.run(1s);
  for (const unsigned restraint : {6U, 1U, 4U}) ASSERT_NO_FATAL_FAILURE(run_until(restraint));
  pressure = 0.9;
  host.run(30min);
  const Nanoseconds from = host.now();
  host.run(1h);
  EXPECT_LT(share_at(host, from, 4), 0.05);
}

TEST(RestraintRest, WhatARaiseGainsIsKept) {
  for (const double gain : {0.3, 0.6}) {
    Host host([&](unsigned restraint, Nanoseconds) { return restraint < 6 ? 0.5 : 0.5 * (1 - gain); });
    host.run(5min);
    const Nanoseconds from = host.now();
    host.run(1h);
    EXPECT_GE(host.since(from).lowest, 6U);
  }
}

// After a silence nothing says from where the top was reached, so it is compared with sleeping waits, but not again and again.
TEST(RestraintRest, TopIsRecheckedOnceARest) {
  for (const double at_top : {0.04, 0.1, 0.35}) {
    Host host([&](unsigned restraint, Nanoseconds) { return restraint < kMaxRestraint ? 0.9 : at_top; });
    host.run(5min);
    host.silence(true);
    host.run(20s);
    host.silence(false);
    host.run(20min);
    const Nanoseconds from = host.now();
    host.run(1h);
    EXPECT_GT(share_at(host, from, kMaxRestraint), 0.96) << at_top;
    EXPECT_LT(host.since(from).changes, 40U) << at_top;
  }
}

// A climb that gained something says nothing about what comes later.
TEST(RestraintRest, TopIsRecheckedWhenWhatItGainedIsGone) {
  Host host([](unsigned restraint, Nanoseconds) { return restraint < 6 ? 0.9 : 0.2; });
  host.run(5min);
  ASSERT_EQ(host.restraint(), kMaxRestraint);
  host.set([](unsigned, Nanoseconds) { return 0.5; });
  host.run(20min);
  const Nanoseconds from = host.now();
  host.run(1h);
  EXPECT_LT(share_at(host, from, kMaxRestraint), 0.05);
}

TEST(RestraintRest, EndsWhereTheLoadIsAnother) {
  Host host([](unsigned, Nanoseconds) { return 0.5; });
  host.run(30min);
  ASSERT_LE(host.restraint(), 3U);
  host.set([](unsigned restraint, Nanoseconds) { return restraint < 4 ? 0.9 : 0.01; });
  host.run(10s);
  EXPECT_GE(host.restraint(), 4U);
  host.set([](unsigned, Nanoseconds) { return 0.5; });
  host.run(30min);
  ASSERT_LE(host.restraint(), 4U);
  host.set([](unsigned restraint, Nanoseconds) { return 0.99 * std::pow(0.9, restraint); });
  host.run(15s);
  EXPECT_EQ(host.restraint(), kMaxRestraint) << "each level helps a little";
}

// The same pressure where raising begins to help: found by the next climb.
TEST(RestraintRest, EndsAfterThePause) {
  Host host([](unsigned, Nanoseconds) { return 0.5; });
  host.run(30min);
  ASSERT_LE(host.restraint(), 3U);
  host.set([](unsigned restraint, Nanoseconds) { return restraint < 5 ? 0.5 : 0.025; });
  host.run(RestraintControl::kMaxPause + 10s);
  EXPECT_GE(host.restraint(), 5U);
  host.run(1h);
  EXPECT_GE(host.restraint(), 5U) << "it is within the bounds";
}

TEST(RestraintRest, LongLaunchesAreJudgedByTheirOwnPressure) {
  Host host([](unsigned restraint, Nanoseconds) { return restraint < 7 ? 0.5 : 0.2; }, 0, 30s);
  host.run(20min);
  const Nanoseconds from = host.now();
  host.run(1h);
  EXPECT_EQ(host.since(from).lowest, kMaxRestraint) << "the level helps, once a launch has used it";
}

}  // namespace
}  // namespace cleave::neighbours
