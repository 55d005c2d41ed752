// Launches follow a count that changes while the program runs.

#include <fstream>
#include <thread>
#include <unistd.h>

#include <sys/wait.h>

#include "tests/kit/eventually.h"
#include "tests/kit/sanitizers.h"
#include "tests/sim/interposer/interposer_fixture.h"
#include "tests/unit/neighbours/fake_monitor.h"

namespace cleave {
namespace {

using neighbours::FakeMonitor;

constexpr const char* kGreeting = "cleave-monitor 1 heartbeat=2000\n";

base::Settings following(const FakeMonitor& listener) {
  base::Settings settings = default_settings();
  settings.vms.reset();
  settings.monitor = listener.address();
  return settings;
}

bool count_is(unsigned vms) {
  return kit::eventually([&] { return interpose::interposer().neighbours.vms() == vms; });
}

// Lives before and after the Cleave that follows it.
struct ListeningMonitor {
  FakeMonitor listener;
};

class LiveNeighbourCount : public testing::Test, public ListeningMonitor, public InterposerFixture {
 protected:
  LiveNeighbourCount() : InterposerFixture(following(listener)) {}

  const cl_kernel kernel = make_kernel();

  // The monitor's first answer: three VMs.
  void answer() {
    ASSERT_TRUE(kit::eventually([&] { return listener.answer(); }));
    listener.say(std::string(kGreeting) + "count 1 3 0\n");
    ASSERT_TRUE(count_is(3));
  }
};

// Into how many launches for the driver one launch of the program's is made.
std::size_t slices_of_a_launch(InterposerFixture& fixture, cl_kernel kernel) {
  const std::size_t before = fixture.driver.launches().size();
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
  return fixture.driver.launches().size() - before;
}

class LiveBusyCount : public testing::Test, public ListeningMonitor, public InterposerFixture {
 protected:
  LiveBusyCount() : InterposerFixture(by_busy(following(listener))) {}

  static base::Settings by_busy(base::Settings settings) {
    settings.count_by = base::CountBy::busy;
    return settings;
  }

  const cl_kernel kernel = make_kernel();
};

TEST_F(LiveBusyCount, IdleMachinesAreNoReasonToSplit) {
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 1U);
  ASSERT_TRUE(kit::eventually([&] { return listener.answer(); }));
  listener.say(std::string(kGreeting) + "count 1 3 2\n");
  ASSERT_TRUE(count_is(3));
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 12U);
  listener.say("count 2 3 0\n");
  ASSERT_TRUE(count_is(1));
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 1U);
}

class LivePressure : public testing::Test, public ListeningMonitor, public InterposerFixture {
 protected:
  explicit LivePressure(std::chrono::seconds max_age = std::chrono::hours(1))
      : InterposerFixture(by_pressure(following(listener), max_age)) {}

  static base::Settings by_pressure(base::Settings settings, std::chrono::seconds max_age) {
    settings.policy = {.kind = base::SplitPolicy::Kind::pressure, .share = 0.03};
    settings.max_age = max_age;
    return settings;
  }

  static bool restraint_is(unsigned restraint) {
    return kit::eventually([&] { return interpose::interposer().neighbours.restraint() == restraint; });
  }

  // The monitor's first answer: nothing is lacking.
  void answer() {
    ASSERT_TRUE(kit::eventually([&] { return listener.answer(); }));
    listener.say("cleave-monitor 1 heartbeat=500\n");
    // Again until it has been seen, since it may be too old by then.
    ASSERT_TRUE(kit::eventually([&] {
      listener.say("count 1 3 2 pressure=0\n");
      return interpose::interposer().neighbours.restraint() == 0;
    }));
  }

  const cl_kernel kernel = make_kernel();
};

TEST_F(LivePressure, LaunchesAreSplitWhileTheNeighboursLackTheProcessor) {
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 1U) << "no answer yet";
  ASSERT_NO_FATAL_FAILURE(answer());
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 1U);
  EXPECT_EQ(statistics().unsplit[static_cast<std::size_t>(plan::UnsplitReason::calm)], 1U);
  listener.say("count 2 3 2 pressure=900\n");
  ASSERT_TRUE(restraint_is(neighbours::RestraintControl::kMaxStep)) << "it is far above the target";
  // Neither too much nor so little that the restraint is lowered, however long the launches take.
  listener.say("count 3 3 2 pressure=25\n");
  const auto figures = [] { return interpose::interposer().summary_context().neighbours; };
  ASSERT_TRUE(kit::eventually([&] { return figures().pressure == 25U; }));
  // The first launches may be unsplit, so that their time is known.
  std::size_t slices = 1;
  for (int i = 0; i < 20 && slices == 1; ++i) slices = slices_of_a_launch(*this, kernel);
  EXPECT_GT(slices, 1U);
  EXPECT_EQ(figures().restraint, neighbours::RestraintControl::kMaxStep);
}

class ForgetfulLivePressure : public LivePressure {
 protected:
  ForgetfulLivePressure() : LivePressure(std::chrono::seconds(1)) {}
};

TEST_F(ForgetfulLivePressure, SilentMonitorMeansTheBudget) {
  EXPECT_EQ(launch(kernel), CL_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(answer());
  listener.hang_up();
  EXPECT_TRUE(restraint_is(neighbours::kMaxRestraint)) << "once its last word is too old";
  EXPECT_FALSE(interpose::interposer().summary_context().neighbours.pressure);
}

TEST_F(LiveNeighbourCount, LaunchesFollowChanges) {
  EXPECT_FALSE(listener.answer()) << "building is no launch";
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 1U) << "no answer yet";
  ASSERT_NO_FATAL_FAILURE(answer());
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 12U);
  listener.say("count 2 5 0\n");
  ASSERT_TRUE(count_is(5));
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 20U);
  listener.say("count 3 1 0\n");
  ASSERT_TRUE(count_is(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(slices_of_a_launch(*this, kernel), 1U);
  EXPECT_EQ(unsplit(plan::UnsplitReason::alone), 4U);
  listener.say("count 4 3 0\n");
  ASSERT_TRUE(count_is(3));
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 12U);
  expect_each_item_ran(7);
}

TEST(ConfiguredNeighbourCount, FirstLaunchWaitsForTheMonitor) {
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

TEST_F(LiveNeighbourCount, ForkedChildFollowsIndependently) {
  if (kit::kThreadSanitizer) GTEST_SKIP() << "it cannot follow a fork";
  EXPECT_EQ(launch(kernel), CL_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(answer());
  driver.run_until_idle();

  interpose::interposer().before_fork();
  const pid_t child = fork();
  if (child == 0) {
    interpose::interposer().after_fork_in_child();
    bool right = launch(kernel) == CL_SUCCESS && statistics().launches == 1;
    listener.hang_up();
    right = right && kit::eventually([&] { return listener.answer(); });
    listener.say(std::string(kGreeting) + "count 9 5 0\n");
    right = right && count_is(5) && slices_of_a_launch(*this, kernel) == 20;
    _exit(right ? 0 : 1);
  }
  interpose::interposer().after_fork_in_parent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  listener.say("count 2 2 0\n");
  ASSERT_TRUE(count_is(2));
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 8U);
}

TEST_F(LiveNeighbourCount, LaunchesWorkAfterExitHandlers) {
  EXPECT_EQ(launch(kernel), CL_SUCCESS);
  ASSERT_NO_FATAL_FAILURE(answer());
  interpose::at_exit();
  EXPECT_EQ(slices_of_a_launch(*this, kernel), 12U);
  expect_each_item_ran(2);
}

TEST_F(LiveNeighbourCount, StatisticsNameItsSource) {
  EXPECT_EQ(interpose::interposer().summary_context().neighbours.state, "idle");
  EXPECT_EQ(launch(make_kernel()), CL_SUCCESS);
  EXPECT_EQ(interpose::interposer().summary_context().neighbours.state, "alone");
  EXPECT_EQ(interpose::interposer().summary_context().neighbours.source, "monitor");
}

TEST(ConfiguredNeighbourCount, CleaveBelowLeavesTheSourceUnused) {
  FakeMonitor listener;
  InterposerFixture below;
  base::Configuration configuration;
  configuration.settings = following(listener);
  interpose::Interposer above(below.cl, {"layer", "the one below"}, configuration, below.driver.clock());
  EXPECT_FALSE(above.begin_splitting());
  EXPECT_EQ(above.neighbours.report().state, neighbours::Report::State::idle);
  EXPECT_FALSE(listener.answer());
}

}  // namespace
}  // namespace cleave
