// The thread that keeps the count, with real sockets and files. Nothing is timed: what must come is waited
// for.

#include "neighbours/neighbours.h"

#include <atomic>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"
#include "tests/kit/threads.h"
#include "tests/unit/neighbours/fake_monitor.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kFastGreeting = "cleave-monitor 1 heartbeat=500\n";

base::Settings following(const FakeMonitor& listener) {
  base::Settings settings;
  settings.monitor = listener.address();
  settings.max_age = 1s;
  return settings;
}

struct Surroundings {
  base::Settings settings;
  base::ForkLocks forks{};
};
// One that has been started, as by a first launch.
class Started : public Surroundings, public Neighbours {
 public:
  explicit Started(base::Settings of) : Surroundings{std::move(of)}, Neighbours(forks, settings) { start(); }
};

// A monitor on a thread that sends the same to every client.
class Server {
 public:
  explicit Server(std::string text) : text_(std::move(text)), thread_([this] { serve(); }) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    stop_ = true;
    thread_.join();
  }
  const FakeMonitor& listener() const { return listener_; }
  int connections() const { return connections_; }

 private:
  void serve() {
    while (!stop_) {
      if (listener_.answer()) {
        ++connections_;
        listener_.say(text_);
      }
      std::this_thread::sleep_for(1ms);
    }
  }

  FakeMonitor listener_;
  const std::string text_;
  std::atomic<bool> stop_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

TEST(NeighbourCount, FixedCountUsesNoSource) {
  const FakeMonitor listener;
  base::Settings settings = following(listener);
  settings.vms = 5;
  Started neighbours(settings);
  EXPECT_EQ(neighbours.vms(), 5U);
  EXPECT_EQ(neighbours.report().state, Report::State::fixed);
  EXPECT_FALSE(const_cast<FakeMonitor&>(listener).answer());
}

TEST(NeighbourCount, ImplausibleCountIsBounded) {
  const Server liar(std::string(kFastGreeting) + "count 1 100000 0\n");
  base::Settings settings = following(liar.listener());
  testing::internal::CaptureStderr();
  {
    Started neighbours(settings);
    EXPECT_TRUE(kit::eventually([&] { return neighbours.vms() != 1; }));
    EXPECT_EQ(neighbours.vms(), 256U);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cleave: neighbours.source: " + as_text(*settings.monitor) +
                " reports 100000 VMs, and 256 are believed: set CLEAVE_VMS if there are more\n");
}

TEST(NeighbourCount, PolicyWithoutACountUsesNoSource) {
  for (const auto kind : {base::SplitPolicy::Kind::off, base::SplitPolicy::Kind::fixed}) {
    FakeMonitor listener;
    base::Settings settings = following(listener);
    settings.policy.kind = kind;
    Started neighbours(settings);
    EXPECT_FALSE(listener.answer());
    EXPECT_EQ(neighbours.report().state, Report::State::fixed);
  }
}

TEST(NeighbourCount, NoSourceIsUsedBeforeTheFirstLaunch) {
  FakeMonitor listener;
  const base::Settings settings = following(listener);
  base::ForkLocks forks;
  Neighbours neighbours(forks, settings);
  EXPECT_EQ(neighbours.vms(), 1U);
  EXPECT_EQ(neighbours.report().state, Report::State::idle);
  EXPECT_FALSE(listener.answer());
  neighbours.start();
  EXPECT_TRUE(kit::eventually([&] { return listener.answer(); }));
}

TEST(NeighbourCount, KeepsACountThatHasExpired) {
  FakeMonitor listener;
  base::Settings settings = following(listener);
  base::ForkLocks forks;
  Neighbours neighbours(forks, settings);
  EXPECT_EQ(neighbours.vms(), 1U);
  neighbours.start();
  ASSERT_TRUE(kit::eventually([&] { return listener.answer(); }));
  listener.say(std::string(kFastGreeting) + "count 1 7 3\n");
  EXPECT_TRUE(kit::eventually([&] { return neighbours.vms() == 7; }));
  EXPECT_EQ(neighbours.report().state, Report::State::known);
  listener.say("count 2 4 3\n");
  EXPECT_TRUE(kit::eventually([&] { return neighbours.vms() == 4; }));
  EXPECT_TRUE(kit::eventually([&] { return neighbours.report().stale == 1; }));
  const Report report = neighbours.report();
  EXPECT_EQ(neighbours.vms(), 4U) << "the last one holds";
  EXPECT_EQ(report.state, Report::State::stale);
  ASSERT_EQ(report.sources.size(), 1U);
  EXPECT_EQ(report.sources[0].status.last_count->vms, 4U);
  listener.say("alive 2\n");
  EXPECT_TRUE(kit::eventually([&] { return neighbours.report().state == Report::State::known; }));
}

TEST(NeighbourCount, FirstLaunchUsesTheFile) {
  const kit::TemporaryFolder folder;
  const std::string path = folder.write("vms", "6\n");
  base::Settings settings;
  settings.sources = {.monitor = false, .peers = false, .files = {path}};
  Started neighbours(settings);
  EXPECT_TRUE(kit::eventually([&] { return neighbours.vms() == 6; }));
}

TEST(NeighbourCount, HostileServerIsLoggedOnce) {
  for (const std::string& text :
       {std::string(1 << 20, '\xff'), std::string("cleave-monitor 2\n"), std::string("count 1 50 0\n"),
        std::string(kFastGreeting) + "count 1 0 5\n", std::string(kFastGreeting) + std::string(5000, '7')}) {
    testing::internal::CaptureStderr();
    {
      const Server server(text);
      Started neighbours(following(server.listener()));
      EXPECT_TRUE(kit::eventually([&] { return server.connections() >= 2; }));
      EXPECT_EQ(neighbours.vms(), 1U);
      EXPECT_EQ(neighbours.report().state, Report::State::alone);
    }
    const std::string status = testing::internal::GetCapturedStderr();
    EXPECT_THAT(status, HasSubstr("neighbours.source"));
    EXPECT_EQ(status.find('\n'), status.size() - 1) << status;
  }
}

TEST(NeighbourCount, SurvivesAFloodOfCounts) {
  testing::internal::CaptureStderr();
  {
    std::string flood = kFastGreeting;
    for (int i = 1; i < 20'000; ++i) flood += "count " + std::to_string(i) + " 3 0\n";
    const Server server(flood);
    Started neighbours(following(server.listener()));
    EXPECT_TRUE(kit::eventually([&] { return server.connections() >= 2; }));
    EXPECT_EQ(neighbours.vms(), 3U);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("sends too much"));
}

TEST(NeighbourCount, StopsPromptlyWhileTheServerHangs) {
  FakeMonitor listener;
  Started neighbours(following(listener));
  ASSERT_TRUE(kit::eventually([&] { return listener.answer(); }));
  listener.say(std::string(kFastGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(kit::eventually([&] { return neighbours.vms() == 3; }));
  neighbours.stop();
  neighbours.stop();
  neighbours.start();  // a static destructor launches
  EXPECT_EQ(neighbours.vms(), 3U);
}

TEST(NeighbourCount, NoSourceIsUsedAfterTheEnd) {
  FakeMonitor listener;
  const base::Settings settings = following(listener);
  base::ForkLocks forks;
  Neighbours neighbours(forks, settings);
  neighbours.stop();
  neighbours.start();
  EXPECT_FALSE(listener.answer());
}

TEST(NeighbourCount, ForkedChildFollowsIndependently) {
  const Server server(std::string(kFastGreeting) + "count 1 3 0\n");
  Started neighbours(following(server.listener()));
  ASSERT_TRUE(kit::eventually([&] { return neighbours.vms() == 3; }));
  neighbours.forks.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    neighbours.forks.after_fork_in_child();
    bool right = neighbours.vms() == 3 && neighbours.report().state == Report::State::idle;
    neighbours.start();
    right = right && kit::eventually([&] { return neighbours.report().state == Report::State::known; });
    neighbours.stop();
    _exit(right ? 0 : 1);
  }
  neighbours.forks.after_fork_in_parent();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_GE(server.connections(), 2);
}

TEST(NeighbourCount, ConcurrentFirstLaunchesAreSafe) {
  const Server server(std::string(kFastGreeting) + "count 1 3 0\n");
  const base::Settings settings = following(server.listener());
  base::ForkLocks forks;
  Neighbours neighbours(forks, settings);
  kit::on_threads(8, [&](std::size_t) {
    neighbours.start();
    static_cast<void>(neighbours.report());
    static_cast<void>(neighbours.vms());
  });
  EXPECT_TRUE(kit::eventually([&] { return neighbours.vms() == 3; }));
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace cleave::neighbours
