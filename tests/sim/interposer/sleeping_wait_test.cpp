// Sleeping waits: Cleave sleeps and polls, and the program sees no difference.

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/kit/eventually.h"
#include "tests/sim/interposer/interposer_fixture.h"
#include "tests/unit/neighbours/fake_monitor.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings waiting_in(base::WaitMode mode, unsigned vms = 5) {
  return kit::with(default_settings(), &base::Settings::wait, mode, &base::Settings::vms, vms);
}
base::Settings sleeping() { return waiting_in(base::WaitMode::sleeping); }

constexpr const char* kMarker = "clEnqueueMarkerWithWaitList";
constexpr const char* kLook = "clGetEventInfo";

// Launches take so long, each slice its share.
void set_duration(InterposerFixture& fixture, base::Nanoseconds whole) {
  fixture.driver.cost("add", [whole](const sim::Launch& launch) {
    return whole * static_cast<std::int64_t>(launch.global[0]) /
           static_cast<std::int64_t>(InterposerFixture::kItems);
  });
}

base::Nanoseconds late(InterposerFixture& fixture) {
  return fixture.driver.clock().now() - fixture.driver.executions().back().ended;
}

bool in_time(base::Nanoseconds late, base::Nanoseconds duration) {
  return late <= std::max<base::Nanoseconds>(duration * 3 / 100, 60us);
}

using SleepingWait = QueueOrderTest<sleeping>;
using SleepingWaitOnALazyDriver = QueueOrderTest<sleeping, lazy_driver>;
using SleepingWaitInOrder = LaunchTest<sleeping>;
class ConfiguredSleepingWait : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(SleepingWait, FinishSleepsAndEndsInTime) {
  for (const base::Nanoseconds whole : {base::Nanoseconds(1s), base::Nanoseconds(5ms)}) {
    set_duration(*this, whole);
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    driver.forget();
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    EXPECT_TRUE(in_time(late(*this), whole)) << late(*this).count();
    EXPECT_GT(driver.count(kLook), 10U);
    EXPECT_EQ(driver.count("clFinish"), 1U) << "the driver's own is called as well";
  }
  EXPECT_EQ(interpose::interposer().wait_statistics.sleeping(), 2U);
  EXPECT_GT(interpose::interposer().wait_statistics.slept(), 900ms);
  expect_each_item_ran(2);
}

TEST_P(SleepingWait, WaitForEventsSleepsAndEndsInTime) {
  set_duration(*this, 1s);
  const kit::Event event = launch_event(kernel);
  driver.forget();
  EXPECT_EQ(cl.wait({event}), CL_SUCCESS);
  EXPECT_TRUE(in_time(late(*this), 1s));
  EXPECT_GT(driver.count(kLook), 10U);
  EXPECT_EQ(driver.count(kMarker), 0U);
  expect_each_item_ran(1);
}

TEST_P(SleepingWaitOnALazyDriver, FlushesLikeTheNativeWait) {
  const kit::Event event = launch_event(kernel);
  const auto start = driver.clock().now();
  EXPECT_EQ(cl.wait({event}), CL_SUCCESS);
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_LT(driver.clock().now() - start, 4ms) << "flushed at once, and not when it took too long";
  expect_each_item_ran(2);
}

// Natively this simulated driver would wait for ever; others flush what is in the way.
TEST_P(SleepingWaitOnALazyDriver, UnflushedQueueCausesNoDeadlock) {
  cl_command_queue other = make_queue();
  kit::Event upstream = cl.event();
  ASSERT_EQ(launch_on(other, kernel, upstream.out()), CL_SUCCESS);
  ASSERT_EQ(launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  const auto start = driver.clock().now();
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_LT(driver.clock().now() - start, 50ms);
  expect_each_item_ran(2);
}

TEST_P(ConfiguredSleepingWait, FailedCommandIsReported) {
  for (const base::WaitMode mode : {base::WaitMode::native, base::WaitMode::sleeping}) {
    InterposerFixture fixture(waiting_in(mode), default_driver(), GetParam());
    const cl_kernel kernel = fixture.make_kernel();
    set_duration(fixture, 100ms);
    fixture.driver.fail_execution("add", 3, -1234);
    const kit::Event event = fixture.launch_event(kernel);
    EXPECT_EQ(fixture.cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_LT(fixture.status(event), 0);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  }
}

TEST_P(SleepingWait, InvalidCallsReturnTheDriversErrors) {
  EXPECT_EQ(cl.clFinish(nullptr), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(cl.clWaitForEvents(0, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(cl.clWaitForEvents(1, nullptr), CL_INVALID_VALUE);
  cl_event none = nullptr;
  EXPECT_EQ(cl.clWaitForEvents(0, &none), CL_INVALID_VALUE);
  EXPECT_EQ(cl.wait({none}), CL_INVALID_EVENT);
}

// Also where a wait for those before the wrong one would be a wait for this thread.
TEST_P(SleepingWait, InvalidWaitListsAreRejectedAtOnce) {
  set_duration(*this, 1ms);
  launch(kernel);
  cl.clFinish(queue);  // from now on the driver is known to make progress by itself
  const base::Nanoseconds slept = interpose::interposer().wait_statistics.slept();
  const kit::Context other = cl.context(device);
  const kit::Event foreign = cl.user_event(other);
  cl_event gate = user_event();
  const kit::Event event = launch_event(kernel, {gate});
  for (const auto& [wrong, error] : {std::pair<cl_event, cl_int>(nullptr, CL_INVALID_EVENT),
                                     std::pair<cl_event, cl_int>(foreign, CL_INVALID_CONTEXT)}) {
    const std::array<cl_event, 2> list = {event, wrong};
    EXPECT_EQ(cl.clWaitForEvents(2, list.data()), error);
  }
  EXPECT_EQ(interpose::interposer().wait_statistics.slept(), slept);
  EXPECT_EQ(cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(cl.clSetUserEventStatus(foreign, CL_COMPLETE), CL_SUCCESS);
}

// Each call that Cleave adds fails once, at its first, second or third time.
TEST_P(ConfiguredSleepingWait, FallsBackToTheNativeWait) {
  for (const char* function : {kMarker, "clFlush", kLook, "clRetainCommandQueue", "clGetDeviceInfo"}) {
    for (unsigned nth = 1; nth <= 3; ++nth) {
      SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
      InterposerFixture fixture(sleeping(), kit::with(default_driver(), &sim::Options::lazy_flush, true),
                                GetParam());
      const cl_kernel kernel = fixture.make_kernel();
      set_duration(fixture, 20ms);
      const kit::Event event = fixture.launch_event(kernel);
      ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
      fixture.driver.fail(function, nth, CL_OUT_OF_HOST_MEMORY);
      EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
      EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
      EXPECT_EQ(fixture.read(), std::vector<cl_int>(InterposerFixture::kItems, 2));
    }
  }
}

TEST_P(SleepingWait, UserEventSetByAnotherThreadEndsTheWait) {
  set_duration(*this, 1ms);
  launch(kernel);
  cl.clFinish(queue);  // from now on the driver is known to make progress by itself
  cl_event gate = user_event();
  const kit::Event event = launch_event(kernel, {gate});
  std::jthread setter([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  });
  EXPECT_EQ(cl.wait({event}), CL_SUCCESS);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  expect_each_item_ran(2);
}

TEST_P(SleepingWait, FailedUserEventIsReported) {
  cl_event gate = user_event();
  const kit::Event event = launch_event(kernel, {gate});
  ASSERT_EQ(cl.clSetUserEventStatus(gate, -77), CL_SUCCESS);
  EXPECT_EQ(cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(cl.wait({gate}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_P(SleepingWait, TakesNoVisibleReferences) {
  set_duration(*this, 50ms);
  const kit::Event event = launch_event(kernel);
  cl.wait({event});
  cl.clFinish(queue);
  EXPECT_EQ(cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT), 1U);
  EXPECT_EQ(cl.info<cl_uint>(queue, CL_QUEUE_REFERENCE_COUNT), 1U);
}

INSTANTIATE_TEST_SUITE_P(Queues, SleepingWait, testing::ValuesIn(kQueueOrders), queue_order_name);
INSTANTIATE_TEST_SUITE_P(Queues, SleepingWaitOnALazyDriver, testing::ValuesIn(kQueueOrders),
                         queue_order_name);
INSTANTIATE_TEST_SUITE_P(Queues, ConfiguredSleepingWait, testing::ValuesIn(kQueueOrders), queue_order_name);

// One launch of a second and a clFinish. Returns whether Cleave waited, not the driver.
bool is_watched_wait(InterposerFixture& fixture, cl_kernel kernel) {
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
  const auto before = interpose::interposer().wait_statistics.sleeping();
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  return interpose::interposer().wait_statistics.sleeping() != before;
}

TEST(AutomaticWait, SpinningDriverIsDetectedAfterThreeLongWaits) {
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic),
                            kit::with(default_driver(), &sim::Options::waits_use_cpu, true));
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 10ms);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
  const auto burnt = fixture.driver.clock().thread_time();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_watched_wait(fixture, kernel));
  EXPECT_LT(fixture.driver.clock().thread_time() - burnt, 1ms);
}

// Brief waits are not measured, nor is the first long one after them.
TEST(AutomaticWait, SpinningDriverIsDetectedAfterBriefWaits) {
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic),
                            kit::with(default_driver(), &sim::Options::waits_use_cpu, true));
  const cl_kernel kernel = fixture.make_kernel();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  set_duration(fixture, 10ms);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
  EXPECT_TRUE(is_watched_wait(fixture, kernel));
}

TEST(AutomaticWait, SleepingDriverIsLeftAlone) {
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic));
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  fixture.driver.forget();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
  EXPECT_EQ(fixture.driver.count(kMarker) + fixture.driver.count(kLook) + fixture.driver.count("clFlush"),
            0U);
}

TEST(AutomaticWait, CpuDriverIsLeftAlone) {
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic),
                            kit::with(default_driver(), &sim::Options::waits_use_cpu, true,
                                      &sim::Options::device_type, CL_DEVICE_TYPE_CPU));
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
}

TEST(AutomaticWait, IsNativeWithoutNeighbours) {
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic, 1),
                            kit::with(default_driver(), &sim::Options::waits_use_cpu, true));
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
}

TEST(AutomaticWait, IsNativeWithoutRestraint) {
  neighbours::FakeMonitor listener;
  base::Settings settings = waiting_in(base::WaitMode::automatic);
  settings.policy = {.kind = base::SplitPolicy::Kind::pressure, .share = 0.03};
  settings.monitor = listener.address();
  settings.max_age = 1h;
  InterposerFixture fixture(settings, kit::with(default_driver(), &sim::Options::waits_use_cpu, true));
  const auto restraint_is = [&](unsigned restraint) {
    return kit::eventually([&] { return interpose::interposer().neighbours.restraint() == restraint; });
  };
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 10ms);
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);  // from here on the monitor is asked
  ASSERT_TRUE(kit::eventually([&] { return listener.answer(); }));
  listener.say("cleave-monitor 1 heartbeat=60000\ncount 1 5 2 pressure=0\n");
  ASSERT_TRUE(restraint_is(0));
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
  listener.say("count 2 5 2 pressure=40\n");
  ASSERT_TRUE(restraint_is(1)) << "just above the target";
  listener.say("count 3 5 2 pressure=25\n");  // it stays there, however long the waits take
  bool watched = false;
  for (int i = 0; i < 6; ++i)
    watched = is_watched_wait(fixture, kernel);  // the first ones show that the driver spins
  EXPECT_TRUE(watched);
  EXPECT_EQ(fixture.statistics().split, 0U) << "sleeping waits come before slices";
}

TEST(AutomaticWait, NativeModeAddsNoCalls) {
  InterposerFixture fixture(waiting_in(base::WaitMode::native));
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  fixture.driver.forget();
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  static_cast<void>(fixture.read());
  ASSERT_EQ(fixture.driver.log().size(), 2U);
}

TEST_F(SleepingWaitInOrder, ShortWaitsAreNativeAndALongOneIsDetected) {
  for (int i = 0; i < 10; ++i) cl.clFinish(queue);
  driver.forget();
  cl.clFinish(queue);
  EXPECT_EQ(driver.count(kMarker), 0U);
  set_duration(*this, 1s);
  EXPECT_FALSE(is_watched_wait(*this, kernel)) << "a wrong guess";
  EXPECT_TRUE(is_watched_wait(*this, kernel));
  EXPECT_TRUE(is_watched_wait(*this, kernel));
}

// Between the launches the program waits for others, which are short, so that the queue's last wait says nothing of the next.
TEST(SleepingWaitForATimedLaunch, GoesByTheLaunchNotByTheQueue) {
  InterposerFixture fixture(
      kit::with(sleeping(), &base::Settings::policy, {.kind = base::SplitPolicy::Kind::budget}));
  const cl_kernel brief = fixture.make_kernel(kSplittable, "sum");
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.cost("sum", [](const sim::Launch&) { return 300us; });
  set_duration(fixture, 40ms);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(is_watched_wait(fixture, brief)) << i << ": noticed too late to be timed";
    const bool watched = is_watched_wait(fixture, kernel);
    if (i == 0) continue;
    EXPECT_TRUE(watched) << i;
    EXPECT_TRUE(in_time(late(fixture), 40ms)) << late(fixture).count();
  }
}

// The program works for longer than the launch takes before it waits: after four such waits a marker is not worth its cost.
TEST(SleepingWaitForATimedLaunch, HasNothingToWatchOnceTheLaunchHasEnded) {
  InterposerFixture fixture(
      kit::with(sleeping(), &base::Settings::policy, {.kind = base::SplitPolicy::Kind::budget}));
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 40ms);
  for (int i = 0; i < 4; ++i) is_watched_wait(fixture, kernel);  // its duration is known
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    ASSERT_EQ(fixture.cl.clFlush(fixture.queue), CL_SUCCESS);
    fixture.driver.clock().sleep_for(1s);
    fixture.driver.forget();
    ASSERT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    if (i > 5) {
      EXPECT_EQ(fixture.driver.count(kMarker), 0U) << i;
    }
  }
  EXPECT_TRUE(is_watched_wait(fixture, kernel)) << "the next one is waited for";
}

// The launch of the first event says nothing of a wait for several.
TEST(SleepingWaitForATimedLaunch, IsNotOneForSeveralEvents) {
  InterposerFixture fixture(
      kit::with(sleeping(), &base::Settings::policy, {.kind = base::SplitPolicy::Kind::budget}));
  const cl_command_queue other = fixture.make_queue();
  const cl_kernel brief = fixture.make_kernel(kSplittable, "sum");
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.cost("sum", [](const sim::Launch&) { return 1ms; });
  set_duration(fixture, 40ms);
  for (int i = 0; i < 4; ++i) is_watched_wait(fixture, brief);  // its duration is known
  for (int i = 0; i < 4; ++i) {
    const kit::Event first = fixture.launch_event(brief);
    kit::Event second = fixture.cl.event();
    ASSERT_EQ(fixture.launch_on(other, kernel, second.out()), CL_SUCCESS);
    const auto before = interpose::interposer().wait_statistics.sleeping();
    ASSERT_EQ(fixture.cl.wait({first, second}), CL_SUCCESS);
    if (i > 0) {
      EXPECT_NE(interpose::interposer().wait_statistics.sleeping(), before) << i;
    }
  }
}

TEST(AutomaticWait, OpenCl11DriverIsLeftAlone) {
  InterposerFixture fixture(sleeping(),
                            kit::with(default_driver(), &sim::Options::platform_version, "OpenCL 1.1 sim"));
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  EXPECT_FALSE(is_watched_wait(fixture, kernel));
}

TEST_F(SleepingWaitInOrder, WaitInACallbackIsNative) {
  for (const bool split : {true, false}) {
    const kit::Event event = split ? launch_event(kernel) : cl.marker_event(queue);
    cl_int finished = 1;
    const EventAction finish = [&](cl_event, cl_int) { finished = cl.clFinish(queue); };
    driver.forget();
    at_status(event, CL_COMPLETE, finish);
    driver.run_until_idle();
    EXPECT_EQ(finished, CL_SUCCESS);
    EXPECT_EQ(driver.count(kMarker), 0U);
  }
  set_duration(*this, 1s);
  EXPECT_TRUE(is_watched_wait(*this, kernel)) << "after the callback it is as before";
}

TEST_F(SleepingWaitInOrder, RejectedCallbackIsReleased) {
  const kit::Event event = cl.marker_event(queue);
  const auto nothing = [](cl_event, cl_int, void*) {};
  EXPECT_EQ(cl.clSetEventCallback(event, 17, nothing, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(cl.clSetEventCallback(event, CL_COMPLETE, nullptr, nullptr), CL_INVALID_VALUE);
}

}  // namespace
}  // namespace cleave
