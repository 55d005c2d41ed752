// The shares of the last looks, and their pictures.
#include "cli/top/live/history.h"

#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

TEST(TopHistory, SparklineHasALevelForEachEighth) {
  EXPECT_EQ(sparkline({0, 0.125, 0.25, 0.5, 1}, 5, true), " \u2581\u2582\u2584\u2588");
  EXPECT_EQ(sparkline({0, 0.125, 0.25, 0.5, 1}, 5, false), " .:=#");
}

TEST(TopHistory, SparklineShowsTheLastOnesAtTheRight) {
  EXPECT_EQ(sparkline({1, 1, 0.01}, 2, false), "#.");
  EXPECT_EQ(sparkline({1}, 4, false), "   #");
  EXPECT_EQ(sparkline({}, 3, false), "   ");
  EXPECT_EQ(sparkline({1}, 0, false), "");
}

TEST(TopHistory, SparklineOfImpossibleSharesIsThatOfTheNearest) {
  EXPECT_EQ(sparkline({-1, 7}, 2, false), " #");
}

TEST(TopHistory, OldestSharesAreForgotten) {
  Histories histories;
  for (std::size_t i = 0; i <= Histories::kMostShares; ++i) histories.add("a", static_cast<double>(i));
  EXPECT_EQ(histories.of("a").size(), Histories::kMostShares);
  EXPECT_EQ(histories.of("a").front(), 1);
}

TEST(TopHistory, WhatIsNoLongerThereIsForgotten) {
  Histories histories;
  histories.add("a", 1);
  histories.add("b", 1);
  histories.end_look();
  histories.add("b", 1);
  histories.end_look();
  EXPECT_TRUE(histories.of("a").empty());
  EXPECT_EQ(histories.of("b").size(), 2U);
}

}  // namespace
}  // namespace cleave::cli
