#include "monitor/tally.h"

#include <gtest/gtest.h>

#include "base/monitor_line.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

Report counted(unsigned running, unsigned busy, TimePoint listed = kStart) {
  Report report;
  report.connected = true;
  report.counts = Counts{running, busy};
  report.listed = listed;
  return report;
}

TEST(Tally, BeginsNotKnowing) {
  const Tally tally(1, seconds(5));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.total().sequence, 1U);
  EXPECT_EQ(tally.connected(), 0U);
}

TEST(Tally, SumsAllHypervisors) {
  Tally tally(2, seconds(5));
  EXPECT_FALSE(tally.report(0, counted(3, 1), kStart));
  EXPECT_FALSE(tally.total().known);
  EXPECT_TRUE(tally.report(1, counted(4, 2), kStart));
  EXPECT_TRUE(tally.total().known);
  EXPECT_EQ(tally.total().counts, (Counts{7, 3}));
  EXPECT_EQ(tally.total().sequence, 2U);
}

TEST(Tally, WithoutOneOfThemNothingIsKnown) {
  Tally tally(2, seconds(5));
  tally.report(0, counted(3, 1), kStart);
  tally.report(1, counted(4, 2), kStart);
  EXPECT_TRUE(tally.report(1, Report{}, kStart));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.connected(), 1U);
  EXPECT_TRUE(tally.report(1, counted(4, 2), kStart));
  EXPECT_EQ(tally.total().sequence, 4U);
}

TEST(Tally, TheSameAgainIsNoChange) {
  Tally tally(1, seconds(5));
  EXPECT_TRUE(tally.report(0, counted(3, 1), kStart));
  EXPECT_FALSE(tally.report(0, counted(3, 1), kStart));
  EXPECT_TRUE(tally.report(0, counted(3, 2), kStart));
  EXPECT_EQ(tally.total().sequence, 3U);
}

TEST(Tally, ACountThatNoListingConfirmsIsGivenUp) {
  Tally tally(1, seconds(5));
  tally.report(0, counted(3, 1), kStart);
  EXPECT_FALSE(tally.expire(kStart + seconds(5)));
  EXPECT_TRUE(tally.expire(kStart + seconds(6)));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.connected(), 0U);
  // An event alone does not bring it back.
  EXPECT_FALSE(tally.report(0, counted(4, 1), kStart + seconds(7)));
  EXPECT_TRUE(tally.report(0, counted(4, 1, kStart + seconds(8)), kStart + seconds(8)));
  EXPECT_EQ(tally.total().counts.running, 4U);
}

TEST(Tally, NoTotalIsBeyondTheProtocolsLimit) {
  Tally tally(2, seconds(5));
  tally.report(0, counted(base::kMostMachines, 1), kStart);
  tally.report(1, counted(base::kMostMachines, 1), kStart);
  EXPECT_EQ(tally.total().counts, (Counts{base::kMostMachines, 2}));
}

}  // namespace
}  // namespace cleave::monitor
