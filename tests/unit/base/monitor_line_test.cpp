#include "base/text/monitor_line.h"

#include <string>

#include <gtest/gtest.h>

#include "cleave/monitor.h"

namespace cleave::base {
namespace {

using LineKind = MonitorLine::Kind;

TEST(MonitorLine, RoundTrips) {
  const auto greeting = parse_monitor_line(greeting_line(2000, 20, 3000));
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->kind, LineKind::greeting);
  EXPECT_EQ(greeting->version, static_cast<unsigned>(CLEAVE_MONITOR_PROTOCOL));
  EXPECT_EQ(greeting->heartbeat_ms, 2000U);
  EXPECT_EQ(greeting->busy_share, 20U);
  EXPECT_EQ(greeting->interval_ms, 3000U);
  const auto count = parse_monitor_line(count_line(UINT64_MAX, kMaxMachines, 7));
  ASSERT_TRUE(count);
  EXPECT_EQ(count->kind, LineKind::count);
  EXPECT_EQ(count->sequence, UINT64_MAX);
  EXPECT_EQ(count->running, kMaxMachines);
  EXPECT_EQ(count->busy, 7U);
  EXPECT_FALSE(count->pressure);
  EXPECT_EQ(parse_monitor_line(count_line(1, 3, 2, 37))->pressure, 37U);
  EXPECT_EQ(parse_monitor_line("count 1 3 2 later pressure=1000 x=y")->pressure, 1000U);
  const auto unknown = parse_monitor_line(unknown_line(3));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->kind, LineKind::unknown);
  EXPECT_EQ(unknown->sequence, 3U);
  const auto alive = parse_monitor_line(alive_line(3));
  ASSERT_TRUE(alive);
  EXPECT_EQ(alive->kind, LineKind::alive);
  EXPECT_EQ(alive->sequence, 3U);
  EXPECT_EQ(parse_monitor_line(bye_line("full"))->kind, LineKind::bye);
}

TEST(MonitorLine, UnknownLinesOfLaterVersionsAreIgnored) {
  EXPECT_EQ(parse_monitor_line("load 0.5")->kind, LineKind::other);
  EXPECT_EQ(parse_monitor_line("countdown")->kind, LineKind::other);
  EXPECT_EQ(parse_monitor_line("count 1 2 1 paused=4")->running, 2U);
  const auto greeting = parse_monitor_line("cleave-monitor 2 tls heartbeat=50 x=y");
  ASSERT_TRUE(greeting);
  EXPECT_EQ(greeting->version, 2U);
  EXPECT_EQ(greeting->heartbeat_ms, 50U);
  EXPECT_EQ(parse_monitor_line("cleave-monitor 1")->heartbeat_ms, 0U);
}

TEST(MonitorLine, MalformedLinesAreRejected) {
  for (const std::string text : {"",
                                 "count",
                                 "count 1",
                                 "count 1 2",
                                 "count 1  2 1",
                                 "count -1 2 1",
                                 "count 1 2 3",
                                 "count 1 2 1 pressure=1001",
                                 "count 1 2 1 pressure=",
                                 "count 1 2 1 pressure=0.5",
                                 "count 1 +2 1",
                                 "count 18446744073709551616 1 1",
                                 "count 1 100001 1",
                                 "unknown",
                                 "unknown x",
                                 "alive",
                                 "alive 1x",
                                 "cleave-monitor",
                                 "cleave-monitor x",
                                 "cleave-monitor 1 heartbeat=",
                                 "cleave-monitor 1 heartbeat=-1",
                                 "cleave-monitor 1 busy-share=101",
                                 "cleave-monitor 1 heartbeat=2 interval=x",
                                 "count 1 2 1\r",
                                 "count\t1 2 1",
                                 "k\xc3\xa4se"}) {
    EXPECT_FALSE(parse_monitor_line(text)) << text;
  }
  EXPECT_FALSE(parse_monitor_line(std::string("bye\0x", 5)));
}

TEST(MonitorLine, LengthIsLimited) {
  const std::string longest(CLEAVE_MONITOR_LINE_MAX - 1, 'x');
  EXPECT_TRUE(parse_monitor_line(longest));
  EXPECT_FALSE(parse_monitor_line(longest + 'x'));
  EXPECT_LT(count_line(UINT64_MAX, kMaxMachines, kMaxMachines).size(), longest.size());
}

}  // namespace
}  // namespace cleave::base
