#include "neighbours/judge.h"

#include <array>

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using base::StaleCount;

constexpr Rules kLast{10s, {StaleCount::Kind::last, 0}};
constexpr Rules kAlone{10s, {StaleCount::Kind::alone, 0}};
constexpr Rules kNumber{10s, {StaleCount::Kind::number, 3}};

TEST(Judge, CountHoldsForItsAgeAndNoLonger) {
  const std::optional<Heard> heard = Heard{5, 100s};
  EXPECT_EQ(judge(heard, kLast, 110s), Knowledge::known);
  EXPECT_EQ(judge(heard, kLast, 110s + 1ns), Knowledge::stale);
  EXPECT_EQ(judge(std::nullopt, kLast, 0s), Knowledge::nothing);
}

TEST(Judge, StaleCountsFallBackAsConfigured) {
  const std::optional<Heard> heard = Heard{5, 0s};
  for (const Rules& rules : {kLast, kAlone, kNumber}) EXPECT_EQ(weigh(heard, rules, 10s), 5U);
  EXPECT_EQ(weigh(heard, kLast, 11s), 5U);
  EXPECT_EQ(weigh(heard, kAlone, 11s), 1U);
  EXPECT_EQ(weigh(heard, kNumber, 11s), 3U);
}

TEST(Judge, WhatWasNeverSaidIsAloneUnlessANumberStandsForIt) {
  EXPECT_EQ(weigh(std::nullopt, kLast, 0s), 1U);
  EXPECT_EQ(weigh(std::nullopt, kAlone, 0s), 1U);
  EXPECT_EQ(weigh(std::nullopt, kNumber, 0s), 3U);
}

TEST(Judge, LargestOfSeveralCounts) {
  const std::array<std::optional<Heard>, 3> heard = {Heard{2, 20s}, Heard{7, 0s}, std::nullopt};
  EXPECT_EQ(weigh_all(heard, kLast, 20s), 7U);
  EXPECT_EQ(weigh_all(heard, kAlone, 20s), 2U);
  EXPECT_EQ(weigh_all(heard, kNumber, 20s), 3U);
  EXPECT_EQ(weigh_all({}, kNumber, 20s), 1U);
}

TEST(Judge, NextStaleIsTheFirstMomentAtWhichOneIs) {
  const std::array<std::optional<Heard>, 3> heard = {Heard{2, 20s}, Heard{7, 15s}, Heard{9, 0s}};
  const auto next = next_stale(heard, kLast, 21s);
  ASSERT_TRUE(next);
  EXPECT_EQ(judge(heard[1], kLast, *next - 1ns), Knowledge::known);
  EXPECT_EQ(judge(heard[1], kLast, *next), Knowledge::stale);
  EXPECT_FALSE(next_stale(heard, kLast, 100s));
}

}  // namespace
}  // namespace cleave::neighbours
