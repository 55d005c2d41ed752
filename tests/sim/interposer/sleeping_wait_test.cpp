// Sleeping waits: Cleave sleeps and polls, and the program sees no difference.

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings waiting_in(base::WaitMode mode, unsigned vms = 5) {
  base::Settings settings = default_settings();
  settings.wait = mode;
  settings.vms = vms;
  return settings;
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

class SleepingWait : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(SleepingWait, FinishSleepsAndEndsInTime) {
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  for (const base::Nanoseconds whole : {base::Nanoseconds(1s), base::Nanoseconds(5ms)}) {
    set_duration(fixture, whole);
    ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
    fixture.driver.forget();
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    EXPECT_TRUE(in_time(late(fixture), whole)) << late(fixture).count();
    EXPECT_GT(fixture.driver.count(kLook), 10U);
    EXPECT_EQ(fixture.driver.count("clFinish"), 1U) << "the driver's own is called as well";
  }
  EXPECT_EQ(interpose::interposer().wait_statistics.sleeping(), 2U);
  EXPECT_GT(interpose::interposer().wait_statistics.slept(), 900ms);
  fixture.expect_each_item_ran(2);
}

TEST_P(SleepingWait, WaitForEventsSleepsAndEndsInTime) {
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  const kit::Event event = fixture.launch_event(kernel);
  fixture.driver.forget();
  EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
  EXPECT_TRUE(in_time(late(fixture), 1s));
  EXPECT_GT(fixture.driver.count(kLook), 10U);
  EXPECT_EQ(fixture.driver.count(kMarker), 0U);
  fixture.expect_each_item_ran(1);
}

TEST_P(SleepingWait, FlushesLikeTheNativeWait) {
  sim::Options options = default_driver();
  options.lazy_flush = true;
  InterposerFixture fixture(sleeping(), options, GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  const kit::Event event = fixture.launch_event(kernel);
  const auto start = fixture.driver.clock().now();
  EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_LT(fixture.driver.clock().now() - start, 4ms) << "flushed at once, and not when it took too long";
  fixture.expect_each_item_ran(2);
}

// Natively this simulated driver would wait for ever; others flush what is in the way.
TEST_P(SleepingWait, UnflushedQueueCausesNoDeadlock) {
  sim::Options options = default_driver();
  options.lazy_flush = true;
  InterposerFixture fixture(sleeping(), options, GetParam());
  cl_command_queue other = fixture.make_queue();
  const cl_kernel kernel = fixture.make_kernel();
  kit::Event upstream = fixture.cl.event();
  ASSERT_EQ(fixture.launch_on(other, kernel, upstream.out()), CL_SUCCESS);
  ASSERT_EQ(fixture.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  const auto start = fixture.driver.clock().now();
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_LT(fixture.driver.clock().now() - start, 50ms);
  fixture.expect_each_item_ran(2);
}

TEST_P(SleepingWait, FailedCommandIsReported) {
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
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  EXPECT_EQ(fixture.cl.clFinish(nullptr), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(fixture.cl.clWaitForEvents(0, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(fixture.cl.clWaitForEvents(1, nullptr), CL_INVALID_VALUE);
  cl_event none = nullptr;
  EXPECT_EQ(fixture.cl.clWaitForEvents(0, &none), CL_INVALID_VALUE);
  EXPECT_EQ(fixture.cl.wait({none}), CL_INVALID_EVENT);
}

// Also where a wait for those before the wrong one would be a wait for this thread.
TEST_P(SleepingWait, InvalidWaitListsAreRejectedAtOnce) {
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1ms);
  fixture.launch(kernel);
  fixture.cl.clFinish(fixture.queue);  // from now on the driver is known to make progress by itself
  const base::Nanoseconds slept = interpose::interposer().wait_statistics.slept();
  const cl_device_id device = fixture.driver.device();
  const kit::Context other = fixture.cl.context(device);
  cl_event foreign = fixture.cl.clCreateUserEvent(other, nullptr);
  cl_event gate = fixture.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(fixture.launch(kernel, &event, {gate}), CL_SUCCESS);
  for (const auto& [wrong, error] : {std::pair<cl_event, cl_int>(nullptr, CL_INVALID_EVENT),
                                     std::pair<cl_event, cl_int>(foreign, CL_INVALID_CONTEXT)}) {
    const std::array<cl_event, 2> list = {event, wrong};
    EXPECT_EQ(fixture.cl.clWaitForEvents(2, list.data()), error);
  }
  EXPECT_EQ(interpose::interposer().wait_statistics.slept(), slept);
  EXPECT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clSetUserEventStatus(foreign, CL_COMPLETE), CL_SUCCESS);
  for (const cl_event made : {event, foreign}) fixture.cl.clReleaseEvent(made);
}

// Each call that Cleave adds fails once, at its first, second or third time.
TEST_P(SleepingWait, FallsBackToTheNativeWait) {
  for (const char* function : {kMarker, "clFlush", kLook, "clRetainCommandQueue", "clGetDeviceInfo"}) {
    for (unsigned nth = 1; nth <= 3; ++nth) {
      SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
      sim::Options options = default_driver();
      options.lazy_flush = true;
      InterposerFixture fixture(sleeping(), options, GetParam());
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
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1ms);
  fixture.launch(kernel);
  fixture.cl.clFinish(fixture.queue);  // from now on the driver is known to make progress by itself
  cl_event gate = fixture.user_event();
  const kit::Event event = fixture.launch_event(kernel, {gate});
  std::jthread setter([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  });
  EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  fixture.expect_each_item_ran(2);
}

TEST_P(SleepingWait, FailedUserEventIsReported) {
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  cl_event gate = fixture.user_event();
  const kit::Event event = fixture.launch_event(kernel, {gate});
  ASSERT_EQ(fixture.cl.clSetUserEventStatus(gate, -77), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.wait({event}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(fixture.cl.wait({gate}), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_P(SleepingWait, TakesNoVisibleReferences) {
  InterposerFixture fixture(sleeping(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 50ms);
  const kit::Event event = fixture.launch_event(kernel);
  fixture.cl.wait({event});
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT), 1U);
  EXPECT_EQ(fixture.cl.info<cl_uint>(fixture.queue, CL_QUEUE_REFERENCE_COUNT), 1U);
}

INSTANTIATE_TEST_SUITE_P(Queues, SleepingWait,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

// One launch of a second and a clFinish. Returns whether Cleave waited, not the driver.
bool is_watched_wait(InterposerFixture& fixture, cl_kernel kernel) {
  EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
  const auto before = interpose::interposer().wait_statistics.sleeping();
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  return interpose::interposer().wait_statistics.sleeping() != before;
}

TEST(AutomaticWait, SpinningDriverIsDetectedAfterThreeLongWaits) {
  sim::Options options = default_driver();
  options.waits_use_cpu = true;
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic), options);
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 10ms);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
  const auto burnt = fixture.driver.clock().thread_time();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_watched_wait(fixture, kernel));
  EXPECT_LT(fixture.driver.clock().thread_time() - burnt, 1ms);
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
  sim::Options options = default_driver();
  options.waits_use_cpu = true;
  options.device_type = CL_DEVICE_TYPE_CPU;
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic), options);
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
}

TEST(AutomaticWait, IsNativeWithoutNeighbours) {
  sim::Options options = default_driver();
  options.waits_use_cpu = true;
  InterposerFixture fixture(waiting_in(base::WaitMode::automatic, 1), options);
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched_wait(fixture, kernel));
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

TEST(AutomaticWait, ShortWaitsAreNativeAndALongOneIsDetected) {
  InterposerFixture fixture(sleeping());
  const cl_kernel kernel = fixture.make_kernel();
  for (int i = 0; i < 10; ++i) fixture.cl.clFinish(fixture.queue);
  fixture.driver.forget();
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.driver.count(kMarker), 0U);
  set_duration(fixture, 1s);
  EXPECT_FALSE(is_watched_wait(fixture, kernel)) << "a wrong guess";
  EXPECT_TRUE(is_watched_wait(fixture, kernel));
  EXPECT_TRUE(is_watched_wait(fixture, kernel));
}

TEST(AutomaticWait, OpenCl11DriverIsLeftAlone) {
  sim::Options options = default_driver();
  options.platform_version = "OpenCL 1.1 sim";
  InterposerFixture fixture(sleeping(), options);
  const cl_kernel kernel = fixture.make_kernel();
  set_duration(fixture, 1s);
  EXPECT_FALSE(is_watched_wait(fixture, kernel));
}

struct InCallback {
  InterposerFixture* fixture;
  cl_int finished = 1;
};

TEST(AutomaticWait, WaitInACallbackIsNative) {
  InterposerFixture fixture(sleeping());
  const cl_kernel kernel = fixture.make_kernel();
  for (const bool split : {true, false}) {
    cl_event event = nullptr;
    if (split) {
      ASSERT_EQ(fixture.launch(kernel, &event), CL_SUCCESS);
    } else {
      ASSERT_EQ(fixture.cl.marker(fixture.queue, {}, &event), CL_SUCCESS);
    }
    InCallback in_callback{&fixture};
    fixture.driver.forget();
    ASSERT_EQ(fixture.cl.clSetEventCallback(
                  event, CL_COMPLETE,
                  [](cl_event, cl_int, void* data) {
                    auto& in_callback = *static_cast<InCallback*>(data);
                    in_callback.finished = in_callback.fixture->cl.clFinish(in_callback.fixture->queue);
                  },
                  &in_callback),
              CL_SUCCESS);
    fixture.driver.run_until_idle();
    EXPECT_EQ(in_callback.finished, CL_SUCCESS);
    EXPECT_EQ(fixture.driver.count(kMarker), 0U);
    fixture.cl.clReleaseEvent(event);
  }
  set_duration(fixture, 1s);
  EXPECT_TRUE(is_watched_wait(fixture, kernel)) << "after the callback it is as before";
}

TEST(AutomaticWait, RejectedCallbackIsReleased) {
  InterposerFixture fixture(sleeping());
  const kit::Event event = fixture.cl.marker_event(fixture.queue);
  const auto nothing = [](cl_event, cl_int, void*) {};
  EXPECT_EQ(fixture.cl.clSetEventCallback(event, 17, nothing, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(fixture.cl.clSetEventCallback(event, CL_COMPLETE, nullptr, nullptr), CL_INVALID_VALUE);
}

}  // namespace
}  // namespace cleave
