#include "monitor/metrics.h"

#include <gtest/gtest.h>

namespace cleave::monitor {
namespace {

Report report_with(unsigned running) {
  Report report;
  report.connected = true;
  report.counts = Counts{running, 1};
  report.listed = TimePoint(std::chrono::seconds(1));
  report.corrections = 4;
  return report;
}

TEST(Metrics, OmitUnknownValues) {
  Totals tally(1, std::chrono::seconds(5));
  const Hub hub({});
  EXPECT_NE(metrics(tally, hub).find("\ncleave_monitor_known 0\n"), std::string::npos);
  EXPECT_EQ(metrics(tally, hub).find("cleave_monitor_running"), std::string::npos);
  tally.report(0, report_with(3), TimePoint(std::chrono::seconds(1)));
  EXPECT_NE(metrics(tally, hub).find("\ncleave_monitor_running 3\n"), std::string::npos);
}

TEST(Metrics, PressureIsAShare) {
  Totals tally(1, std::chrono::seconds(5));
  Report report = report_with(3);
  tally.report(0, report, report.listed);
  EXPECT_EQ(metrics(tally, Hub({})).find("cleave_monitor_pressure"), std::string::npos);
  report.pressure = 0.125;
  tally.report(0, report, report.listed);
  EXPECT_NE(metrics(tally, Hub({})).find("\ncleave_monitor_pressure 0.125\n"), std::string::npos);
}

TEST(Metrics, SumOverHypervisors) {
  Totals tally(2, std::chrono::seconds(5));
  tally.report(0, report_with(3), TimePoint(std::chrono::seconds(1)));
  tally.report(1, report_with(5), TimePoint(std::chrono::seconds(1)));
  const std::string text = metrics(tally, Hub({}));
  EXPECT_NE(text.find("\ncleave_monitor_running 8\n"), std::string::npos);
  EXPECT_NE(text.find("\ncleave_monitor_corrections_total 8\n"), std::string::npos);
}

TEST(Metrics, HealthyIfOneHypervisorIsConnected) {
  Totals tally(2, std::chrono::seconds(5));
  const Hub hub({});
  EXPECT_EQ(metrics_page("/healthz", tally, hub).status, 503U);
  tally.report(0, report_with(3), TimePoint(std::chrono::seconds(1)));
  EXPECT_EQ(metrics_page("/healthz", tally, hub).status, 200U);
  EXPECT_EQ(metrics_page("/healthz", tally, hub).body, "1 of 2 hypervisors connected\n");
  EXPECT_EQ(metrics_page("/", tally, hub).status, 404U);
}

}  // namespace
}  // namespace cleave::monitor
