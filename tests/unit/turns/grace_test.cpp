#include "turns/grace.h"

#include <gtest/gtest.h>

namespace cleave::turns {
namespace {

constexpr Ns kMicrosecond = 1'000;
constexpr Ns kMillisecond = 1'000'000;

void observe(Grace& grace, int times, Ns gap) {
  for (int i = 0; i < times; ++i) grace.observe_gap(gap);
}

TEST(Grace, CoversTheShortGapsOfAChain) {
  Grace grace;
  for (int chain = 0; chain < 10; ++chain) {
    for (int i = 0; i < 19; ++i) {
      grace.observe_gap((40 + i) * kMicrosecond);
      EXPECT_GT(grace.grace(), 60 * kMicrosecond);
    }
    grace.observe_gap(10 * kMillisecond);
  }
  EXPECT_LT(grace.grace(), 150 * kMicrosecond);
}

TEST(Grace, IsNotGivenToWhoseGapsAreLonger) {
  Grace grace;
  EXPECT_GT(grace.grace(), 0);
  observe(grace, 8, 10 * kMillisecond);
  EXPECT_EQ(grace.grace(), 0);
}

TEST(Grace, IsLearntAgain) {
  Grace grace;
  observe(grace, 100, 10 * kMillisecond);
  EXPECT_EQ(grace.grace(), 0);
  observe(grace, 8, 50 * kMicrosecond);
  EXPECT_GT(grace.grace(), 50 * kMicrosecond);
}

TEST(Grace, FollowsGapsThatGrowAndNeverExceedsTheLongest) {
  Grace grace;
  observe(grace, 50, 5 * kMicrosecond);
  EXPECT_LT(grace.grace(), 80 * kMicrosecond);
  observe(grace, 50, 300 * kMicrosecond);
  EXPECT_GT(grace.grace(), 300 * kMicrosecond);
  observe(grace, 50, Grace::kLongest);
  EXPECT_EQ(grace.grace(), Grace::kLongest);
}

TEST(Grace, ToleratesTimesThatRunBackwards) {
  Grace grace;
  observe(grace, 50, -kMillisecond);
  EXPECT_GE(grace.grace(), 0);
  EXPECT_LE(grace.grace(), Grace::kLongest);
}

}  // namespace
}  // namespace cleave::turns
