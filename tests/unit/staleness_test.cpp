#include "neighbours/staleness.h"

#include <array>

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using base::StaleCount;

constexpr StalenessRules kLast{10s, {StaleCount::Kind::last, 0}};
constexpr StalenessRules kAlone{10s, {StaleCount::Kind::alone, 0}};
constexpr StalenessRules kNumber{10s, {StaleCount::Kind::number, 3}};

TEST(StaleCountRule, CountExpiresAtItsAge) {
  const std::optional<TimedCount> last_count = TimedCount{5, 100s};
  EXPECT_EQ(freshness_of(last_count, kLast, 110s), Freshness::fresh);
  EXPECT_EQ(freshness_of(last_count, kLast, 110s + 1ns), Freshness::stale);
  EXPECT_EQ(freshness_of(std::nullopt, kLast, 0s), Freshness::never);
}

TEST(StaleCountRule, StaleCountFallsBackAsConfigured) {
  const std::optional<TimedCount> last_count = TimedCount{5, 0s};
  for (const StalenessRules& rules : {kLast, kAlone, kNumber})
    EXPECT_EQ(effective_count(last_count, rules, 10s), 5U);
  EXPECT_EQ(effective_count(last_count, kLast, 11s), 5U);
  EXPECT_EQ(effective_count(last_count, kAlone, 11s), 1U);
  EXPECT_EQ(effective_count(last_count, kNumber, 11s), 3U);
}

TEST(StaleCountRule, UnknownCountIsOneUnlessConfigured) {
  EXPECT_EQ(effective_count(std::nullopt, kLast, 0s), 1U);
  EXPECT_EQ(effective_count(std::nullopt, kAlone, 0s), 1U);
  EXPECT_EQ(effective_count(std::nullopt, kNumber, 0s), 3U);
}

TEST(StaleCountRule, LargestOfSeveralCountsWins) {
  const std::array<std::optional<TimedCount>, 3> last_count = {TimedCount{2, 20s}, TimedCount{7, 0s},
                                                               std::nullopt};
  EXPECT_EQ(combined_count(last_count, kLast, 20s), 7U);
  EXPECT_EQ(combined_count(last_count, kAlone, 20s), 2U);
  EXPECT_EQ(combined_count(last_count, kNumber, 20s), 3U);
  EXPECT_EQ(combined_count({}, kNumber, 20s), 1U);
}

TEST(StaleCountRule, NextExpiryIsTheEarliest) {
  const std::array<std::optional<TimedCount>, 3> last_count = {TimedCount{2, 20s}, TimedCount{7, 15s},
                                                               TimedCount{9, 0s}};
  const auto next = next_expiry(last_count, kLast, 21s);
  ASSERT_TRUE(next);
  EXPECT_EQ(freshness_of(last_count[1], kLast, *next - 1ns), Freshness::fresh);
  EXPECT_EQ(freshness_of(last_count[1], kLast, *next), Freshness::stale);
  EXPECT_FALSE(next_expiry(last_count, kLast, 100s));
}

}  // namespace
}  // namespace cleave::neighbours
