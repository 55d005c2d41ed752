// The follower's way to a monitor, on real sockets and virtual time: each step is the test's own.

#include "neighbours/monitor_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tests/unit/neighbours/fake_monitor.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGreeting = "cleave-monitor 1 heartbeat=2000\n";

base::Address nowhere() { return *base::parse_address("unix:/nonexistent/socket"); }

// A monitor, and the source's connection to it of the first second.
struct Connected {
  template <class... More>
  explicit Connected(bool required, More... more)
      : listener(), source({listener.address()}, required, 1, more...) {
    source.step(1s);
    EXPECT_TRUE(listener.answer());
  }
  // What the monitor says first, which is heard in the second second.
  void greet(const std::string& lines) {
    listener.say(kGreeting + lines);
    source.step(2s);
  }

  FakeMonitor listener;
  MonitorSource source;
};

TEST(MonitorSource, ReconnectsQuicklyAfterAGoodConnection) {
  Connected connected(true);
  auto& [listener, source] = connected;
  EXPECT_FALSE(source.first_answer_known());
  connected.greet("count 1 3 0\n");
  EXPECT_TRUE(source.first_answer_known());
  ASSERT_TRUE(source.last_count());
  EXPECT_EQ(source.last_count()->vms, 3U);
  EXPECT_EQ(source.state(), "connected");
  EXPECT_EQ(source.wake_condition().events, POLLIN);
  listener.say("alive 1\n");
  source.step(20s);
  EXPECT_EQ(source.last_count()->at, 20s);

  listener.hang_up();
  source.step(21s);
  EXPECT_EQ(source.state(), "unreachable");
  EXPECT_EQ(source.last_count()->vms, 3U);
  EXPECT_EQ(source.wake_condition().fd, -1);
  EXPECT_LE(source.wake_condition().until, 21s + Backoff::kInitialDelay);
  source.step(source.wake_condition().until - 1ns);
  EXPECT_FALSE(listener.answer());
  source.step(source.wake_condition().until);
  ASSERT_TRUE(listener.answer());
  listener.say(std::string(kGreeting) + "count 1 6 0\n");
  source.step(22s);
  EXPECT_EQ(source.last_count()->vms, 6U);
  EXPECT_EQ(source.take_warning(), "");
}

TEST(MonitorSource, CountsTheBusyMachinesIfAsked) {
  Connected connected(true, 10s, base::MonitorTrust::owner, base::CountBy::busy);
  auto& [listener, source] = connected;
  connected.greet("count 1 5 0\n");
  EXPECT_EQ(source.last_count()->vms, 1U);
  listener.say("count 2 5 2\n");
  source.step(3s);
  // A monitor on this machine does not count it.
  EXPECT_EQ(source.last_count()->vms, 3U);
  listener.say("count 3 5 5\n");
  source.step(4s);
  EXPECT_EQ(source.last_count()->vms, 5U);
}

TEST(MonitorSource, WarnsIfCountsExpireBeforeTheNextHeartbeat) {
  for (const auto max_age : {1s, 2s, 3s}) {
    Connected connected(false, max_age);
    connected.greet("count 1 3 0\n");
    EXPECT_EQ(connected.source.last_count()->vms, 3U);
    const std::string said = connected.source.take_warning();
    EXPECT_EQ(said.find("send more often") != std::string::npos, max_age < 3s) << said;
  }
}

TEST(MonitorSource, TriesTheNextAddressImmediately) {
  FakeMonitor listener;
  MonitorSource source({nowhere(), listener.address()}, false, 1);
  source.step(1s);
  EXPECT_TRUE(listener.answer());
  EXPECT_EQ(source.endpoint(), as_text(listener.address()));
  EXPECT_EQ(source.take_warning(), "");
}

TEST(MonitorSource, BacksOffWhileNoMonitorListens) {
  MonitorSource source({nowhere()}, false, 1);
  base::Nanoseconds now = 1s;
  for (int i = 0; i < 12; ++i) {
    source.step(now);
    EXPECT_TRUE(source.first_answer_known());
    EXPECT_GT(source.wake_condition().until, now);
    EXPECT_TRUE(i < 11 || source.wake_condition().until - now >= Backoff::kMaxDelay / 2);
    now = source.wake_condition().until;
  }
  EXPECT_FALSE(source.last_count());
  EXPECT_EQ(source.take_warning(), "") << "no monitor is configured";
  MonitorSource named({nowhere()}, true, 1);
  named.step(1s);
  EXPECT_NE(named.take_warning().find("unix:/nonexistent/socket does not answer"), std::string::npos);
}

TEST(MonitorSource, DropsAServerWithoutAGreeting) {
  Connected connected(true);
  auto& [listener, source] = connected;
  const base::Nanoseconds deadline = source.wake_condition().until;
  EXPECT_EQ(deadline, 6s);
  source.step(deadline);
  EXPECT_FALSE(listener.say("x") && listener.say("x"));
  EXPECT_TRUE(source.first_answer_known());
  EXPECT_EQ(source.state(), "unreachable");
}

TEST(MonitorSource, BacksOffAfterShortConnections) {
  FakeMonitor listener;
  MonitorSource source({listener.address()}, true, 1);
  base::Nanoseconds now = 1s;
  for (int i = 0; i < 12; ++i) {
    source.step(now);
    ASSERT_TRUE(listener.answer());
    listener.say(std::string(kGreeting) + "count 1 3 0\nbye again\n");
    source.step(now);
    EXPECT_TRUE(i < 11 || source.wake_condition().until - now >= Backoff::kMaxDelay / 2);
    now = source.wake_condition().until;
  }
}

TEST(MonitorSource, LimitsReadsPerStep) {
  for (const char* text : {"\xff\xff\xff", "GET / HTTP/1.1\r\n\r\n", "cleave-monitor 9\n"}) {
    Connected connected(false);
    auto& [listener, source] = connected;
    listener.say(std::string(text) + std::string(100'000, 'x'));
    for (int i = 0; i < 40; ++i) source.step(1s);
    EXPECT_EQ(source.state(), "unreachable") << text;
    EXPECT_FALSE(source.last_count());
    EXPECT_NE(source.take_warning(), "");
  }
}

TEST(MonitorSource, DescriptorReusedByTheProgramIsNotClosed) {
  Connected connected(false);
  connected.greet("count 1 3 0\n");
  MonitorSource& source = connected.source;
  // As daemons do: close what one does not know, and open one's own.
  const int theirs = source.wake_condition().fd;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  ASSERT_EQ(dup2(ends[0], theirs), theirs);
  ASSERT_EQ(write(ends[1], "data", 4), 4);
  source.step(3s);
  EXPECT_EQ(source.state(), "unreachable");
  char data[8];
  EXPECT_EQ(read(theirs, data, sizeof data), 4);
  for (const int fd : {theirs, ends[0], ends[1]}) close(fd);
}

TEST(MonitorSource, UnknownHostIsReported) {
  MonitorSource source({*base::parse_address("tcp:a..b:1")}, true, 1);
  source.step(1s);
  EXPECT_TRUE(source.first_answer_known());
  EXPECT_NE(source.take_warning().find("a..b"), std::string::npos);
}

}  // namespace
}  // namespace cleave::neighbours
