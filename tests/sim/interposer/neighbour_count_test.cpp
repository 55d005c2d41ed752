// Launches follow a count that changes while the program runs.

#include <fstream>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "tests/sim/interposer/interposer_fixture.h"
#include "tests/unit/fake_monitor.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using neighbours::FakeMonitor;

constexpr const char* kGreeting = "cleave-monitor 1 heartbeat=2000\n";

base::Settings following(const FakeMonitor& listener) {
  base::Settings settings = default_settings();
  settings.vms.reset();
  settings.monitor = listener.address();
  return settings;
}

// Waits, a minute at most, for what another thread does.
template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool count_is(unsigned vms) {
  return eventually([&] { return interpose::interposer().neighbours.vms() == vms; });
}

// Into how many launches for the driver one launch of the program's is made.
std::size_t slices_of_a_launch(InterposerFixture& fixture, cl_kernel kernel) {
  const std::size_t before = fixture.driver.launches().size();
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
  return fixture.driver.launches().size() - before;
}

TEST(LiveNeighbourCount, LaunchesFollowChanges) {
  FakeMonitor listener;
  InterposerFixture fixture(following(listener));
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_FALSE(listener.answer()) << "building is no launch";
  EXPECT_EQ(slices_of_a_launch(fixture, kernel), 1U) << "no answer yet";
  ASSERT_TRUE(eventually([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(count_is(3));
  EXPECT_EQ(slices_of_a_launch(fixture, kernel), 12U);
  listener.say("count 2 5 0\n");
  ASSERT_TRUE(count_is(5));
  EXPECT_EQ(slices_of_a_launch(fixture, kernel), 20U);
  listener.say("count 3 1 0\n");
  ASSERT_TRUE(count_is(1));
  EXPECT_EQ(slices_of_a_launch(fixture, kernel), 1U);
  EXPECT_EQ(InterposerFixture::unsplit(plan::UnsplitReason::alone), 2U);
  fixture.expect_each_item_ran(4);
}

TEST(LiveNeighbourCount, FirstLaunchWaitsForTheMonitor) {
  FakeMonitor listener;
  std::atomic<bool> done{false};
  std::thread server([&] {
    while (!done) {
      if (listener.answer()) listener.say(std::string(kGreeting) + "count 1 3 0\n");
      std::this_thread::yield();
    }
  });
  std::size_t slices = 0;
  // The wait is short, so a busy machine may miss it; but not always.
  for (int i = 0; i < 200 && slices != 12; ++i) {
    InterposerFixture fixture(following(listener));
    slices = slices_of_a_launch(fixture, fixture.make_kernel());
  }
  done = true;
  server.join();
  EXPECT_EQ(slices, 12U);
}

#if defined(__SANITIZE_THREAD__)
#define CLEAVE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CLEAVE_THREAD_SANITIZER 1
#endif
#endif

TEST(LiveNeighbourCount, ForkedChildFollowsIndependently) {
#ifdef CLEAVE_THREAD_SANITIZER
  GTEST_SKIP()
      << "ThreadSanitizer keeps account of 64 locks that a thread holds, and there are more around a fork";
#endif
  FakeMonitor listener;
  InterposerFixture fixture(following(listener));
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
  ASSERT_TRUE(eventually([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(count_is(3));
  fixture.driver.run_until_idle();

  interpose::interposer().before_fork();
  const pid_t child = fork();
  if (child == 0) {
    interpose::interposer().after_fork_in_child();
    bool right = fixture.launch(kernel) == CL_SUCCESS && InterposerFixture::statistics().launches == 1;
    listener.hang_up();
    right = right && eventually([&] { return listener.answer(); });
    listener.say(std::string(kGreeting) + "count 9 5 0\n");
    right = right && count_is(5) && slices_of_a_launch(fixture, kernel) == 20;
    _exit(right ? 0 : 1);
  }
  interpose::interposer().after_fork_in_parent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  listener.say("count 2 2 0\n");
  ASSERT_TRUE(count_is(2));
  EXPECT_EQ(slices_of_a_launch(fixture, kernel), 8U);
}

TEST(LiveNeighbourCount, LaunchesWorkAfterExitHandlers) {
  FakeMonitor listener;
  InterposerFixture fixture(following(listener));
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
  ASSERT_TRUE(eventually([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(count_is(3));
  interpose::at_exit();
  EXPECT_EQ(slices_of_a_launch(fixture, kernel), 12U);
  fixture.expect_each_item_ran(2);
}

TEST(LiveNeighbourCount, StatisticsNameItsSource) {
  FakeMonitor listener;
  InterposerFixture fixture(following(listener));
  EXPECT_EQ(interpose::interposer().summary_context().neighbours.state, "idle");
  EXPECT_EQ(fixture.launch(fixture.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(interpose::interposer().summary_context().neighbours.state, "alone");
  EXPECT_EQ(interpose::interposer().summary_context().neighbours.source, "monitor");
}

TEST(LiveNeighbourCount, CleaveBelowLeavesTheSourceUnused) {
  FakeMonitor listener;
  InterposerFixture below;
  base::Configuration configuration;
  configuration.settings = following(listener);
  interpose::Interposer above(below.cl, "layer", "the one below", configuration, below.driver.clock());
  EXPECT_FALSE(above.begin_splitting());
  EXPECT_EQ(above.neighbours.report().state, neighbours::Report::State::idle);
  EXPECT_FALSE(listener.answer());
}

}  // namespace
}  // namespace cleave
