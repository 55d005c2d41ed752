// Launches follow a count that changes while the program runs.

#include <fstream>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "tests/sim/split/scene.h"
#include "tests/unit/listener.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using neighbours::Listener;

constexpr const char* kGreeting = "cleave-monitor 1 heartbeat=2000\n";

base::Settings following(const Listener& listener) {
  base::Settings settings = usual_settings();
  settings.vms.reset();
  settings.monitor = listener.address();
  return settings;
}

// Waits, a minute at most, for what another thread does.
template <typename Condition>
bool comes(Condition condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool count_is(unsigned vms) {
  return comes([&] { return interpose::process().neighbours.vms() == vms; });
}

// Into how many launches for the driver one launch of the program's is made.
std::size_t slices_of_a_launch(Scene& scene, cl_kernel kernel) {
  const std::size_t before = scene.driver.launches().size();
  EXPECT_EQ(scene.launch(kernel), CL_SUCCESS);
  return scene.driver.launches().size() - before;
}

TEST(LiveCount, LaunchesFollowIt) {
  Listener listener;
  Scene scene(following(listener));
  const cl_kernel kernel = scene.make_kernel();
  EXPECT_FALSE(listener.answer()) << "building is no launch";
  EXPECT_EQ(slices_of_a_launch(scene, kernel), 1U) << "nobody has answered yet";
  ASSERT_TRUE(comes([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(count_is(3));
  EXPECT_EQ(slices_of_a_launch(scene, kernel), 12U);
  listener.say("count 2 5 0\n");
  ASSERT_TRUE(count_is(5));
  EXPECT_EQ(slices_of_a_launch(scene, kernel), 20U);
  listener.say("count 3 1 0\n");
  ASSERT_TRUE(count_is(1));
  EXPECT_EQ(slices_of_a_launch(scene, kernel), 1U);
  EXPECT_EQ(Scene::whole(plan::Whole::alone), 2U);
  scene.expect_each_item_ran(4);
}

TEST(LiveCount, FirstLaunchWaitsForAMonitorThatIsThere) {
  Listener listener;
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
    Scene scene(following(listener));
    slices = slices_of_a_launch(scene, scene.make_kernel());
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

TEST(LiveCount, ForkedChildFollowsOnItsOwn) {
#ifdef CLEAVE_THREAD_SANITIZER
  GTEST_SKIP()
      << "ThreadSanitizer keeps account of 64 locks that a thread holds, and there are more around a fork";
#endif
  Listener listener;
  Scene scene(following(listener));
  const cl_kernel kernel = scene.make_kernel();
  EXPECT_EQ(scene.launch(kernel), CL_SUCCESS);
  ASSERT_TRUE(comes([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(count_is(3));
  scene.driver.run_until_idle();

  interpose::process().before_fork();
  const pid_t child = fork();
  if (child == 0) {
    interpose::process().after_fork_in_child();
    bool right = scene.launch(kernel) == CL_SUCCESS && Scene::tally().launches == 1;
    listener.hang_up();
    right = right && comes([&] { return listener.answer(); });
    listener.say(std::string(kGreeting) + "count 9 5 0\n");
    right = right && count_is(5) && slices_of_a_launch(scene, kernel) == 20;
    _exit(right ? 0 : 1);
  }
  interpose::process().after_fork_in_parent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  listener.say("count 2 2 0\n");
  ASSERT_TRUE(count_is(2));
  EXPECT_EQ(slices_of_a_launch(scene, kernel), 8U);
}

TEST(LiveCount, LaunchesGoOnAfterTheExit) {
  Listener listener;
  Scene scene(following(listener));
  const cl_kernel kernel = scene.make_kernel();
  EXPECT_EQ(scene.launch(kernel), CL_SUCCESS);
  ASSERT_TRUE(comes([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 0\n");
  ASSERT_TRUE(count_is(3));
  interpose::at_exit();
  EXPECT_EQ(slices_of_a_launch(scene, kernel), 12U);
  scene.expect_each_item_ran(2);
}

TEST(LiveCount, StatisticsSayWhereItComesFrom) {
  Listener listener;
  Scene scene(following(listener));
  EXPECT_EQ(interpose::process().circumstances().neighbours.state, "idle");
  EXPECT_EQ(scene.launch(scene.make_kernel()), CL_SUCCESS);
  EXPECT_EQ(interpose::process().circumstances().neighbours.state, "alone");
  EXPECT_EQ(interpose::process().circumstances().neighbours.source, "monitor");
}

TEST(LiveCount, AnotherCleaveBelowAsksNobodyHere) {
  Listener listener;
  Scene below;
  base::Configuration configuration;
  configuration.settings = following(listener);
  interpose::Process above(below.cl, "layer", "the one below", configuration, below.driver.clock());
  EXPECT_FALSE(above.in_charge());
  EXPECT_EQ(above.neighbours.report().state, neighbours::Report::State::idle);
  EXPECT_FALSE(listener.answer());
}

}  // namespace
}  // namespace cleave
