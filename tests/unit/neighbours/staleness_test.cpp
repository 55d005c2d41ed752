#include "neighbours/staleness.h"

#include <array>

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

TEST(StaleCountRule, CountExpiresAtItsAge) {
  const std::optional<TimedCount> last_count = TimedCount{5, 100s};
  EXPECT_EQ(freshness_of(last_count, 10s, 110s), Freshness::fresh);
  EXPECT_EQ(freshness_of(last_count, 10s, 110s + 1ns), Freshness::stale);
  EXPECT_EQ(freshness_of(std::nullopt, 10s, 0s), Freshness::never);
}

TEST(StaleCountRule, LargestOfSeveralCountsHoldsHoweverOldItIs) {
  const std::array<std::optional<TimedCount>, 3> last_count = {TimedCount{2, 20s}, TimedCount{7, 0s},
                                                               std::nullopt};
  EXPECT_EQ(combined_count(last_count), 7U);
  EXPECT_EQ(combined_count({}), 1U);
}

TEST(StaleCountRule, NextExpiryIsTheEarliest) {
  const std::array<std::optional<TimedCount>, 3> last_count = {TimedCount{2, 20s}, TimedCount{7, 15s},
                                                               TimedCount{9, 0s}};
  const auto next = next_expiry(last_count, 10s, 21s);
  ASSERT_TRUE(next);
  EXPECT_EQ(freshness_of(last_count[1], 10s, *next - 1ns), Freshness::fresh);
  EXPECT_EQ(freshness_of(last_count[1], 10s, *next), Freshness::stale);
  EXPECT_FALSE(next_expiry(last_count, 10s, 100s));
}

}  // namespace
}  // namespace cleave::neighbours
