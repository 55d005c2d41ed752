#include "monitor/totals.h"

#include <gtest/gtest.h>

#include "base/monitor_line.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1000)};

Report report_with(unsigned running, unsigned busy, TimePoint listed = kStart) {
  Report report;
  report.connected = true;
  report.counts = Counts{running, busy};
  report.listed = listed;
  return report;
}

TEST(Totals, StartsUnknown) {
  const Totals tally(1, seconds(5));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.total().sequence, 1U);
  EXPECT_EQ(tally.connected(), 0U);
}

TEST(Totals, SumsAllHypervisors) {
  Totals tally(2, seconds(5));
  EXPECT_FALSE(tally.report(0, report_with(3, 1), kStart));
  EXPECT_FALSE(tally.total().known);
  EXPECT_TRUE(tally.report(1, report_with(4, 2), kStart));
  EXPECT_TRUE(tally.total().known);
  EXPECT_EQ(tally.total().counts, (Counts{7, 3}));
  EXPECT_EQ(tally.total().sequence, 2U);
}

TEST(Totals, IsUnknownIfOneHypervisorIs) {
  Totals tally(2, seconds(5));
  tally.report(0, report_with(3, 1), kStart);
  tally.report(1, report_with(4, 2), kStart);
  EXPECT_TRUE(tally.report(1, Report{}, kStart));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.connected(), 1U);
  EXPECT_TRUE(tally.report(1, report_with(4, 2), kStart));
  EXPECT_EQ(tally.total().sequence, 4U);
}

TEST(Totals, UnchangedReportIsNoChange) {
  Totals tally(1, seconds(5));
  EXPECT_TRUE(tally.report(0, report_with(3, 1), kStart));
  EXPECT_FALSE(tally.report(0, report_with(3, 1), kStart));
  EXPECT_TRUE(tally.report(0, report_with(3, 2), kStart));
  EXPECT_EQ(tally.total().sequence, 3U);
}

TEST(Totals, UnconfirmedCountExpires) {
  Totals tally(1, seconds(5));
  tally.report(0, report_with(3, 1), kStart);
  EXPECT_FALSE(tally.expire(kStart + seconds(5)));
  EXPECT_TRUE(tally.expire(kStart + seconds(6)));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.connected(), 0U);
  // An event alone does not bring it back.
  EXPECT_FALSE(tally.report(0, report_with(4, 1), kStart + seconds(7)));
  EXPECT_TRUE(tally.report(0, report_with(4, 1, kStart + seconds(8)), kStart + seconds(8)));
  EXPECT_EQ(tally.total().counts.running, 4U);
}

TEST(Totals, TotalIsCappedAtTheProtocolLimit) {
  Totals tally(2, seconds(5));
  tally.report(0, report_with(base::kMaxMachines, 1), kStart);
  tally.report(1, report_with(base::kMaxMachines, 1), kStart);
  EXPECT_EQ(tally.total().counts, (Counts{base::kMaxMachines, 2}));
}

}  // namespace
}  // namespace cleave::monitor
