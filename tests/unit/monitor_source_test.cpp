// The follower's way to a monitor, on real sockets and virtual time: each step is the test's own.

#include "neighbours/monitor_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "tests/unit/listener.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGreeting = "cleave-monitor 1 heartbeat=2000\n";

base::Address nowhere() { return *base::read_address("unix:/nonexistent/socket"); }

TEST(MonitorSource, FollowsAndComesBackSoonAfterAGoodConversation) {
  Listener listener;
  MonitorSource source({listener.address()}, true, 1);
  source.step(1s);
  ASSERT_TRUE(listener.answer());
  EXPECT_FALSE(source.settled());
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  source.step(2s);
  EXPECT_TRUE(source.settled());
  ASSERT_TRUE(source.heard());
  EXPECT_EQ(source.heard()->vms, 3U);
  EXPECT_EQ(source.state(), "connected");
  EXPECT_EQ(source.wish().events, POLLIN);
  listener.say("alive 1\n");
  source.step(20s);
  EXPECT_EQ(source.heard()->at, 20s);

  listener.hang_up();
  source.step(21s);
  EXPECT_EQ(source.state(), "unreachable");
  EXPECT_EQ(source.heard()->vms, 3U);
  EXPECT_EQ(source.wish().fd, -1);
  EXPECT_LE(source.wish().until, 21s + Backoff::kFirst);
  source.step(source.wish().until - 1ns);
  EXPECT_FALSE(listener.answer());
  source.step(source.wish().until);
  ASSERT_TRUE(listener.answer());
  listener.say(std::string(kGreeting) + "count 1 6 0\n");
  source.step(22s);
  EXPECT_EQ(source.heard()->vms, 6U);
  EXPECT_EQ(source.take_complaint(), "");
}

TEST(MonitorSource, CountsThatAreStaleBeforeTheNextHeartbeatAreWorthAWord) {
  for (const auto max_age : {1s, 2s, 3s}) {
    Listener listener;
    MonitorSource source({listener.address()}, false, 1, max_age);
    source.step(1s);
    ASSERT_TRUE(listener.answer());
    listener.say(std::string(kGreeting) + "count 1 3 0\n");
    source.step(2s);
    EXPECT_EQ(source.heard()->vms, 3U);
    const std::string said = source.take_complaint();
    EXPECT_EQ(said.find("set 3 or more") != std::string::npos, max_age < 3s) << said;
  }
}

TEST(MonitorSource, NextAddressIsTriedAtOnce) {
  Listener listener;
  MonitorSource source({nowhere(), listener.address()}, false, 1);
  source.step(1s);
  EXPECT_TRUE(listener.answer());
  EXPECT_EQ(source.place(), as_text(listener.address()));
  EXPECT_EQ(source.take_complaint(), "");
}

TEST(MonitorSource, NobodyThereIsSettledAndAskedLessAndLess) {
  MonitorSource source({nowhere()}, false, 1);
  base::Nanoseconds now = 1s;
  for (int i = 0; i < 12; ++i) {
    source.step(now);
    EXPECT_TRUE(source.settled());
    EXPECT_GT(source.wish().until, now);
    EXPECT_TRUE(i < 11 || source.wish().until - now >= Backoff::kLongest / 2);
    now = source.wish().until;
  }
  EXPECT_FALSE(source.heard());
  EXPECT_EQ(source.take_complaint(), "") << "nobody has been named";
  MonitorSource named({nowhere()}, true, 1);
  named.step(1s);
  EXPECT_NE(named.take_complaint().find("unix:/nonexistent/socket does not answer"), std::string::npos);
}

TEST(MonitorSource, WhoDoesNotGreetIsLeftAlone) {
  Listener listener;
  MonitorSource source({listener.address()}, true, 1);
  source.step(1s);
  ASSERT_TRUE(listener.answer());
  const base::Nanoseconds deadline = source.wish().until;
  EXPECT_EQ(deadline, 6s);
  source.step(deadline);
  EXPECT_FALSE(listener.say("x") && listener.say("x"));
  EXPECT_TRUE(source.settled());
  EXPECT_EQ(source.state(), "unreachable");
}

TEST(MonitorSource, ShortConversationsAreHadLessAndLessOften) {
  Listener listener;
  MonitorSource source({listener.address()}, true, 1);
  base::Nanoseconds now = 1s;
  for (int i = 0; i < 12; ++i) {
    source.step(now);
    ASSERT_TRUE(listener.answer());
    listener.say(std::string(kGreeting) + "count 1 3 0\nbye again\n");
    source.step(now);
    EXPECT_TRUE(i < 11 || source.wish().until - now >= Backoff::kLongest / 2);
    now = source.wish().until;
  }
}

TEST(MonitorSource, HostileServersGetOneReadAStep) {
  for (const char* text : {"\xff\xff\xff", "GET / HTTP/1.1\r\n\r\n", "cleave-monitor 9\n"}) {
    Listener listener;
    MonitorSource source({listener.address()}, false, 1);
    source.step(1s);
    ASSERT_TRUE(listener.answer());
    listener.say(std::string(text) + std::string(100'000, 'x'));
    for (int i = 0; i < 40; ++i) source.step(1s);
    EXPECT_EQ(source.state(), "unreachable") << text;
    EXPECT_FALSE(source.heard());
    EXPECT_NE(source.take_complaint(), "");
  }
}

TEST(MonitorSource, DescriptorThatTheProgramTookIsLeftToIt) {
  Listener listener;
  MonitorSource source({listener.address()}, false, 1);
  source.step(1s);
  ASSERT_TRUE(listener.answer());
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  source.step(2s);
  // As daemons do: close what one does not know, and open one's own.
  const int theirs = source.wish().fd;
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

TEST(MonitorSource, HostThatIsNotKnownIsSaid) {
  MonitorSource source({*base::read_address("tcp:a..b:1")}, true, 1);
  source.step(1s);
  EXPECT_TRUE(source.settled());
  EXPECT_NE(source.take_complaint().find("a..b"), std::string::npos);
}

}  // namespace
}  // namespace cleave::neighbours
