#include "neighbours/monitor_protocol.h"

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using State = MonitorProtocol::State;

constexpr const char* kSessionGreeting = "cleave-monitor 1 heartbeat=2000\n";

// What a session makes of a whole stream that comes at one moment.
MonitorProtocol after(const std::string& text, base::Nanoseconds now = 0s) {
  MonitorProtocol session(0s);
  session.receive(text, now);
  return session;
}

TEST(MonitorProtocol, CountIsReceivedAndAliveConfirmsIt) {
  MonitorProtocol session(0s);
  EXPECT_EQ(session.state(), State::greeting);
  session.receive(kSessionGreeting, 1s);
  EXPECT_EQ(session.state(), State::following);
  EXPECT_FALSE(session.last_count());
  session.receive("count 7 5 2\n", 2s);
  ASSERT_TRUE(session.last_count());
  EXPECT_EQ(session.last_count()->vms, 5U);
  EXPECT_EQ(session.last_count()->at, 2s);
  session.receive("alive 7\n", 4s);
  EXPECT_EQ(session.last_count()->at, 4s);
  session.receive("count 8 1 0\nsomething later=1\n", 5s);
  EXPECT_EQ(session.last_count()->vms, 1U);
  EXPECT_EQ(session.state(), State::following);
}

TEST(MonitorProtocol, TellsBusyMachinesAndTheRule) {
  const MonitorProtocol session =
      after("cleave-monitor 1 heartbeat=2000 busy-share=35 interval=1500\ncount 1 5 2\n");
  EXPECT_EQ(session.busy(), 2U);
  ASSERT_TRUE(session.busy_rule());
  EXPECT_DOUBLE_EQ(session.busy_rule()->share, 0.35);
  EXPECT_EQ(session.busy_rule()->interval, 1500ms);
  EXPECT_FALSE(after(std::string(kSessionGreeting) + "count 1 5 2\n").busy_rule());
}

TEST(MonitorProtocol, PressureAgesLikeTheCount) {
  MonitorProtocol session = after(std::string(kSessionGreeting) + "count 1 5 2 pressure=37\n", 1s);
  ASSERT_TRUE(session.last_pressure());
  EXPECT_EQ(session.last_pressure()->thousandths, 37U);
  session.receive("alive 1\n", 3s);
  EXPECT_EQ(session.last_pressure()->at, 3s);
  session.receive("unknown 2\nalive 2\n", 5s);
  EXPECT_EQ(session.last_pressure()->at, 3s);
  session.receive("count 3 5 2\n", 6s);
  EXPECT_FALSE(session.last_pressure()) << "a daemon that does not say it any more";
}

TEST(MonitorProtocol, LinesMayBeFragmented) {
  const std::string text = std::string(kSessionGreeting) + "count 1 3 0\ncount 2 4 0\n";
  for (std::size_t size = 1; size < text.size(); ++size) {
    MonitorProtocol session(0s);
    for (std::size_t at = 0; at < text.size(); at += size) session.receive(text.substr(at, size), 1s);
    ASSERT_TRUE(session.last_count()) << size;
    EXPECT_EQ(session.last_count()->vms, 4U) << size;
  }
}

TEST(MonitorProtocol, UnknownCountIsNotConfirmed) {
  MonitorProtocol session = after(std::string(kSessionGreeting) + "count 1 3 0\nunknown 2\n", 1s);
  session.receive("alive 2\n", 5s);
  session.receive("alive 1\n", 6s);
  EXPECT_EQ(session.last_count()->at, 1s);
  EXPECT_EQ(session.last_count()->vms, 3U);
  session.receive("count 3 3 0\nalive 3\n", 7s);
  EXPECT_EQ(session.last_count()->at, 7s);
}

TEST(MonitorProtocol, AliveOfAnotherCountConfirmsNothing) {
  MonitorProtocol session = after(std::string(kSessionGreeting) + "count 5 3 0\n", 1s);
  session.receive("alive 4\nalive 6\n", 9s);
  EXPECT_EQ(session.last_count()->at, 1s);
  EXPECT_EQ(session.state(), State::following);
}

TEST(MonitorProtocol, ZeroRunningCountsThisVm) {
  EXPECT_EQ(after(std::string(kSessionGreeting) + "count 1 0 0\n").last_count()->vms, 1U);
}

TEST(MonitorProtocol, ByeEndsItCleanly) {
  const MonitorProtocol session =
      after(std::string(kSessionGreeting) + "count 1 4 0\nbye restart\ncount 2 9 0\n");
  EXPECT_EQ(session.state(), State::ended);
  EXPECT_EQ(session.error_text(), "");
  EXPECT_EQ(session.last_count()->vms, 4U);
}

TEST(MonitorProtocol, MalformedInputBreaksIt) {
  const std::string all[] = {"count 1 5 0\n",
                             "\n",
                             "hello\n",
                             "cleave-monitor\n",
                             "cleave-monitor 2 heartbeat=2000\n",
                             "cleave-monitor 1 heartbeat=x\n",
                             std::string(200, 'x'),
                             std::string("cleave-monitor 1\0\n", 18),
                             std::string(kSessionGreeting) + kSessionGreeting,
                             std::string(kSessionGreeting) + "count 1 5\n",
                             std::string(kSessionGreeting) + "count 1 5 6\n",
                             std::string(kSessionGreeting) + "count 1 999999999999 0\n",
                             std::string(kSessionGreeting) + "\xff\xfe\n"};
  for (const std::string& text : all) {
    MonitorProtocol session = after(text);
    EXPECT_EQ(session.state(), State::broken) << text;
    EXPECT_NE(session.error_text(), "") << text;
    session.receive(std::string(kSessionGreeting) + "count 1 5 0\n", 1s);
    EXPECT_FALSE(session.last_count()) << "it goes on after " << text;
  }
}

TEST(MonitorProtocol, WrongVersionIsReported) {
  EXPECT_NE(after("cleave-monitor 12\n").error_text().find("version 12"), std::string::npos);
}

TEST(MonitorProtocol, FloodOfValidLinesBreaksIt) {
  MonitorProtocol flood = after(kSessionGreeting);
  for (int i = 1; i < 10'000 && flood.state() == State::following; ++i) {
    flood.receive("count " + std::to_string(i) + " 5 0\n", 1s);
  }
  EXPECT_EQ(flood.state(), State::broken);

  MonitorProtocol slow = after(kSessionGreeting);
  for (int i = 1; i < 10'000; ++i) slow.receive("count " + std::to_string(i) + " 5 0\n", i * 10ms);
  EXPECT_EQ(slow.state(), State::following);
}

TEST(MonitorProtocol, SilenceEndsIt) {
  MonitorProtocol never_greeted(1s);
  never_greeted.check_timeout(5s);
  EXPECT_EQ(never_greeted.state(), State::greeting);
  never_greeted.check_timeout(6s);
  EXPECT_EQ(never_greeted.state(), State::ended);

  MonitorProtocol session = after("cleave-monitor 1 heartbeat=4000\n", 0s);
  session.receive("count 1 2 0\n", 10s);
  session.receive("half a li", 20s);  // no line, so no heartbeat
  session.check_timeout(21s);
  EXPECT_EQ(session.state(), State::following);
  session.check_timeout(22s);
  EXPECT_EQ(session.state(), State::ended);
}

TEST(MonitorProtocol, TimeoutIsBounded) {
  EXPECT_EQ(after("cleave-monitor 1 heartbeat=3600000\n").deadline(), 60s);
  EXPECT_EQ(after("cleave-monitor 1 heartbeat=1\n").deadline(), 5s);
  EXPECT_EQ(after("cleave-monitor 1\n").deadline(), 5s);
}

}  // namespace
}  // namespace cleave::neighbours
