#include "neighbours/session.h"

#include <gtest/gtest.h>

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using State = Session::State;

constexpr const char* kSessionGreeting = "cleave-monitor 1 heartbeat=2000\n";

// What a session makes of a whole stream that comes at one moment.
Session after(const std::string& text, base::Nanoseconds now = 0s) {
  Session session(0s);
  session.take(text, now);
  return session;
}

TEST(Session, CountsAreHeardAndAliveConfirmsThem) {
  Session session(0s);
  EXPECT_EQ(session.state(), State::greeting);
  session.take(kSessionGreeting, 1s);
  EXPECT_EQ(session.state(), State::following);
  EXPECT_FALSE(session.heard());
  session.take("count 7 5 2\n", 2s);
  ASSERT_TRUE(session.heard());
  EXPECT_EQ(session.heard()->vms, 5U);
  EXPECT_EQ(session.heard()->at, 2s);
  session.take("alive 7\n", 4s);
  EXPECT_EQ(session.heard()->at, 4s);
  session.take("count 8 1 0\nsomething later=1\n", 5s);
  EXPECT_EQ(session.heard()->vms, 1U);
  EXPECT_EQ(session.state(), State::following);
}

TEST(Session, LinesMayComeInAnyPieces) {
  const std::string text = std::string(kSessionGreeting) + "count 1 3 0\ncount 2 4 0\n";
  for (std::size_t size = 1; size < text.size(); ++size) {
    Session session(0s);
    for (std::size_t at = 0; at < text.size(); at += size) session.take(text.substr(at, size), 1s);
    ASSERT_TRUE(session.heard()) << size;
    EXPECT_EQ(session.heard()->vms, 4U) << size;
  }
}

TEST(Session, WhatTheServerNoLongerKnowsIsNotConfirmed) {
  Session session = after(std::string(kSessionGreeting) + "count 1 3 0\nunknown 2\n", 1s);
  session.take("alive 2\n", 5s);
  session.take("alive 1\n", 6s);
  EXPECT_EQ(session.heard()->at, 1s);
  EXPECT_EQ(session.heard()->vms, 3U);
  session.take("count 3 3 0\nalive 3\n", 7s);
  EXPECT_EQ(session.heard()->at, 7s);
}

TEST(Session, AnotherCountsAliveConfirmsNothing) {
  Session session = after(std::string(kSessionGreeting) + "count 5 3 0\n", 1s);
  session.take("alive 4\nalive 6\n", 9s);
  EXPECT_EQ(session.heard()->at, 1s);
  EXPECT_EQ(session.state(), State::following);
}

TEST(Session, NobodyRunningIsStillThisOne) {
  EXPECT_EQ(after(std::string(kSessionGreeting) + "count 1 0 0\n").heard()->vms, 1U);
}

TEST(Session, ByeEndsItWithoutFault) {
  const Session session = after(std::string(kSessionGreeting) + "count 1 4 0\nbye restart\ncount 2 9 0\n");
  EXPECT_EQ(session.state(), State::ended);
  EXPECT_EQ(session.fault(), "");
  EXPECT_EQ(session.heard()->vms, 4U);
}

TEST(Session, WhatIsNoProtocolBreaksIt) {
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
    Session session = after(text);
    EXPECT_EQ(session.state(), State::broken) << text;
    EXPECT_NE(session.fault(), "") << text;
    session.take(std::string(kSessionGreeting) + "count 1 5 0\n", 1s);
    EXPECT_FALSE(session.heard()) << "it goes on after " << text;
  }
}

TEST(Session, WrongVersionIsNamed) {
  EXPECT_NE(after("cleave-monitor 12\n").fault().find("version 12"), std::string::npos);
}

TEST(Session, FloodOfGoodLinesBreaksItAndASlowStreamOfThemDoesNot) {
  Session flood = after(kSessionGreeting);
  for (int i = 1; i < 10'000 && flood.state() == State::following; ++i) {
    flood.take("count " + std::to_string(i) + " 5 0\n", 1s);
  }
  EXPECT_EQ(flood.state(), State::broken);

  Session slow = after(kSessionGreeting);
  for (int i = 1; i < 10'000; ++i) slow.take("count " + std::to_string(i) + " 5 0\n", i * 10ms);
  EXPECT_EQ(slow.state(), State::following);
}

TEST(Session, SilenceEndsIt) {
  Session never_greeted(1s);
  never_greeted.look_at_the_clock(5s);
  EXPECT_EQ(never_greeted.state(), State::greeting);
  never_greeted.look_at_the_clock(6s);
  EXPECT_EQ(never_greeted.state(), State::ended);

  Session session = after("cleave-monitor 1 heartbeat=4000\n", 0s);
  session.take("count 1 2 0\n", 10s);
  session.take("half a li", 20s);  // no line, so no sign of life
  session.look_at_the_clock(21s);
  EXPECT_EQ(session.state(), State::following);
  session.look_at_the_clock(22s);
  EXPECT_EQ(session.state(), State::ended);
}

TEST(Session, PatienceHasBounds) {
  EXPECT_EQ(after("cleave-monitor 1 heartbeat=3600000\n").deadline(), 60s);
  EXPECT_EQ(after("cleave-monitor 1 heartbeat=1\n").deadline(), 5s);
  EXPECT_EQ(after("cleave-monitor 1\n").deadline(), 5s);
}

}  // namespace
}  // namespace cleave::neighbours
