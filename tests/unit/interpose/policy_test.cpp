// What each policy decides for a launch, without a driver.

#include "interpose/policies/policy.h"

#include <gtest/gtest.h>

#include "tests/unit/plan/decided_launch.h"

namespace cleave::interpose {
namespace {

using base::SplitPolicy;
using plan::UnsplitReason;

class Policies : public testing::Test {
 protected:
  void use_default_min_items() { settings_.min_items.reset(); }

  PolicyDecision decide(SplitPolicy policy, unsigned vms, bool denied = false) {
    settings_.policy = policy;
    const auto made = make_policy({settings_, costs_});
    DecidedLaunch launch(settings_, vms);
    launch.facts().denied = denied;
    return made->decide(launch);
  }

 private:
  base::Settings settings_ = [] {
    base::Settings settings;
    settings.min_items = 480;
    return settings;
  }();
  learn::CostTable costs_;
};

TEST_F(Policies, AlphaSplitsIntoVmsTimesAlpha) {
  for (unsigned vms = 2; vms < 20; ++vms) EXPECT_EQ(decide({SplitPolicy::Kind::alpha}, vms).slices, vms * 4);
}

TEST_F(Policies, AlphaAndBudgetDoNotSplitWithoutNeighbours) {
  EXPECT_EQ(decide({SplitPolicy::Kind::alpha}, 1).unsplit_reason, UnsplitReason::alone);
  EXPECT_EQ(decide({SplitPolicy::Kind::budget}, 1).unsplit_reason, UnsplitReason::alone);
}

TEST_F(Policies, FixedIgnoresTheNumberOfVms) {
  EXPECT_EQ(decide({SplitPolicy::Kind::fixed, 7}, 1).slices, 7U);
  EXPECT_EQ(decide({SplitPolicy::Kind::fixed, 7}, 50).slices, 7U);
}

TEST_F(Policies, FixedWithOneSliceDoesNotSplit) {
  EXPECT_EQ(decide({SplitPolicy::Kind::fixed, 1}, 5).unsplit_reason, UnsplitReason::policy);
}

TEST_F(Policies, PoliciesThatMeasureStartWithAlpha) {
  EXPECT_EQ(decide({SplitPolicy::Kind::budget}, 5).slices, 20U);
  const SplitPolicy quantum{SplitPolicy::Kind::quantum, 0, std::chrono::milliseconds(5)};
  EXPECT_EQ(decide(quantum, 1).slices, 16U) << "alone, but a bound was requested";
  EXPECT_EQ(decide(quantum, 50).slices, 200U);
}

TEST_F(Policies, OffNeverSplits) {
  EXPECT_EQ(decide({SplitPolicy::Kind::off}, 5).unsplit_reason, UnsplitReason::policy);
}

TEST_F(Policies, DeniedKernelsAreNotSplit) {
  for (const auto kind : {SplitPolicy::Kind::alpha, SplitPolicy::Kind::budget, SplitPolicy::Kind::fixed}) {
    for (const unsigned vms : {1U, 5U})
      EXPECT_EQ(decide({kind, 1}, vms, true).unsplit_reason, UnsplitReason::denied);
  }
}

// The launch has 34 times the work-groups that the device holds.
TEST_F(Policies, OnlyAlphaKeepsTheDeviceFull) {
  use_default_min_items();
  EXPECT_EQ(decide({SplitPolicy::Kind::alpha}, 50).slices, 34U);
  EXPECT_EQ(decide({SplitPolicy::Kind::budget}, 50).slices, 200U);
  EXPECT_EQ(decide({SplitPolicy::Kind::fixed, 200}, 50).slices, 200U);
}

}  // namespace
}  // namespace cleave::interpose
