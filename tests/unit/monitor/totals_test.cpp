#include "monitor/totals.h"

#include <gtest/gtest.h>

#include "base/text/monitor_line.h"

namespace cleave::monitor {
namespace {

using std::chrono::seconds;

constexpr TimePoint kListed{seconds(1000)};

Report report_with(unsigned running, unsigned busy, TimePoint listed = kListed) {
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
  EXPECT_FALSE(tally.report(0, report_with(3, 1), kListed));
  EXPECT_FALSE(tally.total().known);
  EXPECT_TRUE(tally.report(1, report_with(4, 2), kListed));
  EXPECT_TRUE(tally.total().known);
  EXPECT_EQ(tally.total().counts, (Counts{7, 3}));
  EXPECT_EQ(tally.total().sequence, 2U);
}

TEST(Totals, IsUnknownIfOneHypervisorIs) {
  Totals tally(2, seconds(5));
  tally.report(0, report_with(3, 1), kListed);
  tally.report(1, report_with(4, 2), kListed);
  EXPECT_TRUE(tally.report(1, Report{}, kListed));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.connected(), 1U);
  EXPECT_TRUE(tally.report(1, report_with(4, 2), kListed));
  EXPECT_EQ(tally.total().sequence, 4U);
}

TEST(Totals, UnchangedReportIsNoChange) {
  Totals tally(1, seconds(5));
  EXPECT_TRUE(tally.report(0, report_with(3, 1), kListed));
  EXPECT_FALSE(tally.report(0, report_with(3, 1), kListed));
  EXPECT_TRUE(tally.report(0, report_with(3, 2), kListed));
  EXPECT_EQ(tally.total().sequence, 3U);
}

TEST(Totals, UnconfirmedCountExpires) {
  Totals tally(1, seconds(5));
  tally.report(0, report_with(3, 1), kListed);
  EXPECT_FALSE(tally.expire(kListed + seconds(5)));
  EXPECT_TRUE(tally.expire(kListed + seconds(6)));
  EXPECT_FALSE(tally.total().known);
  EXPECT_EQ(tally.connected(), 0U);
  // An event alone does not bring it back.
  EXPECT_FALSE(tally.report(0, report_with(4, 1), kListed + seconds(7)));
  EXPECT_TRUE(tally.report(0, report_with(4, 1, kListed + seconds(8)), kListed + seconds(8)));
  EXPECT_EQ(tally.total().counts.running, 4U);
}

TEST(Totals, TotalIsCappedAtTheProtocolLimit) {
  Totals tally(2, seconds(5));
  tally.report(0, report_with(base::kMaxMachines, 1), kListed);
  tally.report(1, report_with(base::kMaxMachines, 1), kListed);
  EXPECT_EQ(tally.total().counts, (Counts{base::kMaxMachines, 2}));
}

Report report_of_pressure(std::optional<double> pressure) {
  Report report = report_with(3, 1);
  report.pressure = pressure;
  report.pressure_due = kListed + seconds(2);
  return report;
}

TEST(Totals, PressureIsTheLargestAndNeedsAll) {
  Totals tally(2, seconds(5));
  tally.report(0, report_of_pressure(0.2), kListed);
  tally.report(1, report_of_pressure(std::nullopt), kListed);
  EXPECT_EQ(tally.total().pressure, std::nullopt);
  EXPECT_TRUE(tally.report(1, report_of_pressure(0.0304), kListed));
  EXPECT_EQ(tally.total().pressure, 200U);
  tally.report(0, report_of_pressure(0), kListed);
  EXPECT_EQ(tally.total().pressure, 30U);
  EXPECT_TRUE(tally.expire(kListed + seconds(6)));
  EXPECT_EQ(tally.total().pressure, std::nullopt);
}

TEST(Totals, LatePressureExpiresAlone) {
  Totals tally(1, seconds(5));
  tally.report(0, report_of_pressure(0.2), kListed);
  EXPECT_FALSE(tally.expire(kListed + seconds(2)));
  EXPECT_TRUE(tally.expire(kListed + seconds(3)));
  EXPECT_EQ(tally.total().pressure, std::nullopt);
  EXPECT_TRUE(tally.total().known);
  EXPECT_EQ(tally.total().counts.running, 3U);
}

TEST(Totals, SmallChangesOfPressureAreNotPublished) {
  Totals tally(1, seconds(5));
  EXPECT_TRUE(tally.report(0, report_of_pressure(0.1), kListed));
  EXPECT_FALSE(tally.report(0, report_of_pressure(0.105), kListed));
  EXPECT_FALSE(tally.report(0, report_of_pressure(0.095), kListed));
  EXPECT_TRUE(tally.report(0, report_of_pressure(0.106), kListed));
  EXPECT_EQ(tally.total().pressure, 106U);
  EXPECT_TRUE(tally.report(0, report_of_pressure(0.4), kListed));
  EXPECT_FALSE(tally.report(0, report_of_pressure(0.419), kListed));
  EXPECT_TRUE(tally.report(0, report_of_pressure(0.421), kListed));
  tally.report(0, report_of_pressure(0.004), kListed);
  EXPECT_EQ(tally.total().pressure, 4U);
  EXPECT_TRUE(tally.report(0, report_of_pressure(0), kListed)) << "none at all";
  EXPECT_EQ(tally.total().pressure, 0U);
}

TEST(Totals, NoiseOfFewThousandthsIsNotPublished) {
  Totals tally(1, seconds(5));
  tally.report(0, report_of_pressure(0), kListed);
  for (const double pressure : {0.001, 0.004, 0.002, 0.0, 0.003, 0.0})
    EXPECT_FALSE(tally.report(0, report_of_pressure(pressure), kListed)) << pressure;
  EXPECT_TRUE(tally.report(0, report_of_pressure(0.012), kListed));
  for (const double pressure : {0.016, 0.008, 0.014, 0.009})
    EXPECT_FALSE(tally.report(0, report_of_pressure(pressure), kListed)) << pressure;
  EXPECT_TRUE(tally.report(0, report_of_pressure(0.017), kListed));
}

}  // namespace
}  // namespace cleave::monitor
