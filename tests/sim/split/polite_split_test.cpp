// Polite waits: Cleave sleeps and looks, and the program cannot tell.

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings waiting_in(base::WaitMode mode, unsigned vms = 5) {
  base::Settings settings = usual_settings();
  settings.wait = mode;
  settings.vms = vms;
  return settings;
}
base::Settings polite() { return waiting_in(base::WaitMode::polite); }

constexpr const char* kMarker = "clEnqueueMarkerWithWaitList";
constexpr const char* kLook = "clGetEventInfo";

// Launches take so long, each slice its share.
void lasts(Scene& scene, base::Nanoseconds whole) {
  scene.driver.cost("add", [whole](const sim::Launch& launch) {
    return whole * static_cast<std::int64_t>(launch.global[0]) / static_cast<std::int64_t>(Scene::kItems);
  });
}

base::Nanoseconds late(Scene& scene) {
  return scene.driver.clock().now() - scene.driver.executions().back().ended;
}

bool in_time(base::Nanoseconds late, base::Nanoseconds duration) {
  return late <= std::max<base::Nanoseconds>(duration * 3 / 100, 60us);
}

class Polite : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(Polite, FinishSleepsAndEndsInTime) {
  Scene scene(polite(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  for (const base::Nanoseconds whole : {base::Nanoseconds(1s), base::Nanoseconds(5ms)}) {
    lasts(scene, whole);
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    scene.driver.forget();
    EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
    EXPECT_TRUE(in_time(late(scene), whole)) << late(scene).count();
    EXPECT_GT(scene.driver.count(kLook), 10U);
    EXPECT_EQ(scene.driver.count("clFinish"), 1U) << "the driver's own is called as well";
  }
  EXPECT_EQ(interpose::process().waits.polite(), 2U);
  EXPECT_GT(interpose::process().waits.slept(), 900ms);
  scene.expect_each_item_ran(2);
}

TEST_P(Polite, WaitForEventsSleepsAndEndsInTime) {
  Scene scene(polite(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1s);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  scene.driver.forget();
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
  EXPECT_TRUE(in_time(late(scene), 1s));
  EXPECT_GT(scene.driver.count(kLook), 10U);
  EXPECT_EQ(scene.driver.count(kMarker), 0U);
  scene.cl.clReleaseEvent(event);
  scene.expect_each_item_ran(1);
}

TEST_P(Polite, ImpliesTheFlushesThatTheDriversOwnWaitsDo) {
  sim::Options options = usual_driver();
  options.lazy_flush = true;
  Scene scene(polite(), options, GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  const auto start = scene.driver.clock().now();
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  EXPECT_LT(scene.driver.clock().now() - start, 4ms) << "flushed at once, and not when it took too long";
  scene.cl.clReleaseEvent(event);
  scene.expect_each_item_ran(2);
}

// Natively this simulated driver would wait for ever; others flush what is in the way.
TEST_P(Polite, QueueThatNobodyFlushedIsNoTrap) {
  sim::Options options = usual_driver();
  options.lazy_flush = true;
  Scene scene(polite(), options, GetParam());
  cl_command_queue other = scene.make_queue();
  const cl_kernel kernel = scene.make_kernel();
  cl_event upstream = nullptr;
  ASSERT_EQ(scene.launch_on(other, kernel, &upstream), CL_SUCCESS);
  ASSERT_EQ(scene.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  const auto start = scene.driver.clock().now();
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  EXPECT_LT(scene.driver.clock().now() - start, 50ms);
  scene.cl.clReleaseEvent(upstream);
  scene.expect_each_item_ran(2);
}

TEST_P(Polite, FailedCommandIsReportedAsNatively) {
  for (const base::WaitMode mode : {base::WaitMode::native, base::WaitMode::polite}) {
    Scene scene(waiting_in(mode), usual_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    lasts(scene, 100ms);
    scene.driver.fail_execution("add", 3, -1234);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_LT(scene.status(event), 0);
    EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
    scene.cl.clReleaseEvent(event);
  }
}

TEST_P(Polite, InvalidCallsHaveTheDriversAnswers) {
  Scene scene(polite(), usual_driver(), GetParam());
  EXPECT_EQ(scene.cl.clFinish(nullptr), CL_INVALID_COMMAND_QUEUE);
  EXPECT_EQ(scene.cl.clWaitForEvents(0, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(scene.cl.clWaitForEvents(1, nullptr), CL_INVALID_VALUE);
  cl_event none = nullptr;
  EXPECT_EQ(scene.cl.clWaitForEvents(0, &none), CL_INVALID_VALUE);
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &none), CL_INVALID_EVENT);
}

// Also where a wait for those before the wrong one would be a wait for this thread.
TEST_P(Polite, ListsThatCannotBeWaitedForAreRefusedAtOnce) {
  Scene scene(polite(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1ms);
  scene.launch(kernel);
  scene.cl.clFinish(scene.queue);  // from now on the driver is known to need nobody
  const base::Nanoseconds slept = interpose::process().waits.slept();
  const cl_device_id device = scene.driver.device();
  cl_context other = scene.cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_event foreign = scene.cl.clCreateUserEvent(other, nullptr);
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  for (const auto& [wrong, error] : {std::pair<cl_event, cl_int>(nullptr, CL_INVALID_EVENT),
                                     std::pair<cl_event, cl_int>(foreign, CL_INVALID_CONTEXT)}) {
    const std::array<cl_event, 2> list = {event, wrong};
    EXPECT_EQ(scene.cl.clWaitForEvents(2, list.data()), error);
  }
  EXPECT_EQ(interpose::process().waits.slept(), slept);
  EXPECT_EQ(scene.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clSetUserEventStatus(foreign, CL_COMPLETE), CL_SUCCESS);
  for (const cl_event made : {event, foreign}) scene.cl.clReleaseEvent(made);
  scene.cl.clReleaseContext(other);
}

// Each call that Cleave adds fails once, at its first, second or third time.
TEST_P(Polite, FaultInAnythingAddedLeavesTheDriversOwnWait) {
  for (const char* function : {kMarker, "clFlush", kLook, "clRetainCommandQueue", "clGetDeviceInfo"}) {
    for (unsigned nth = 1; nth <= 3; ++nth) {
      SCOPED_TRACE(std::string(function) + " " + std::to_string(nth));
      sim::Options options = usual_driver();
      options.lazy_flush = true;
      Scene scene(polite(), options, GetParam());
      const cl_kernel kernel = scene.make_kernel();
      lasts(scene, 20ms);
      cl_event event = nullptr;
      ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
      ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
      scene.driver.fail(function, nth, CL_OUT_OF_HOST_MEMORY);
      EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
      EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
      EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 2));
      scene.cl.clReleaseEvent(event);
    }
  }
}

TEST_P(Polite, UserEventSetByAnotherThreadEndsTheWait) {
  Scene scene(polite(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1ms);
  scene.launch(kernel);
  scene.cl.clFinish(scene.queue);  // from now on the driver is known to need nobody
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  std::jthread setter([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(scene.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  });
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
  scene.expect_each_item_ran(2);
}

TEST_P(Polite, FailedUserEventIsReportedAsNatively) {
  Scene scene(polite(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clSetUserEventStatus(gate, -77), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  EXPECT_EQ(scene.cl.clWaitForEvents(1, &gate), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  scene.cl.clReleaseEvent(event);
}

TEST_P(Polite, ReferencesAreTheProgramsOwn) {
  Scene scene(polite(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 50ms);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  scene.cl.clWaitForEvents(1, &event);
  scene.cl.clFinish(scene.queue);
  cl_uint references = 0;
  scene.cl.clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, nullptr);
  EXPECT_EQ(references, 1U);
  scene.cl.clReleaseEvent(event);
  scene.cl.clGetCommandQueueInfo(scene.queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references,
                                 nullptr);
  EXPECT_EQ(references, 1U);
}

INSTANTIATE_TEST_SUITE_P(Queues, Polite,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

// One launch of a second and a clFinish; says whether that was Cleave's wait.
bool is_watched(Scene& scene, cl_kernel kernel) {
  EXPECT_EQ(scene.launch(kernel), CL_SUCCESS);
  const auto before = interpose::process().waits.polite();
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  return interpose::process().waits.polite() != before;
}

TEST(PoliteByItself, DriverThatBurnsIsKnownAfterThreeLongWaits) {
  sim::Options options = usual_driver();
  options.waits_burn = true;
  Scene scene(waiting_in(base::WaitMode::automatic), options);
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 10ms);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_watched(scene, kernel));
  const auto burnt = scene.driver.clock().thread_time();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_watched(scene, kernel));
  EXPECT_LT(scene.driver.clock().thread_time() - burnt, 1ms);
}

TEST(PoliteByItself, DriverThatSleepsIsLeftAlone) {
  Scene scene(waiting_in(base::WaitMode::automatic));
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1s);
  scene.driver.forget();
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched(scene, kernel));
  EXPECT_EQ(scene.driver.count(kMarker) + scene.driver.count(kLook) + scene.driver.count("clFlush"), 0U);
}

TEST(PoliteByItself, ProcessorsDriverIsLeftAlone) {
  sim::Options options = usual_driver();
  options.waits_burn = true;
  options.device_type = CL_DEVICE_TYPE_CPU;
  Scene scene(waiting_in(base::WaitMode::automatic), options);
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1s);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched(scene, kernel));
}

TEST(PoliteByItself, NobodyElseThereNoPoliteness) {
  sim::Options options = usual_driver();
  options.waits_burn = true;
  Scene scene(waiting_in(base::WaitMode::automatic, 1), options);
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1s);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(is_watched(scene, kernel));
}

TEST(PoliteByItself, NativeModeAddsNothing) {
  Scene scene(waiting_in(base::WaitMode::native));
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  scene.driver.forget();
  EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
  static_cast<void>(scene.read());
  ASSERT_EQ(scene.driver.log().size(), 2U);
}

TEST(PoliteByItself, BriefWaitsAreTheDriversAndALongOneIsNoticed) {
  Scene scene(polite());
  const cl_kernel kernel = scene.make_kernel();
  for (int i = 0; i < 10; ++i) scene.cl.clFinish(scene.queue);
  scene.driver.forget();
  scene.cl.clFinish(scene.queue);
  EXPECT_EQ(scene.driver.count(kMarker), 0U);
  lasts(scene, 1s);
  EXPECT_FALSE(is_watched(scene, kernel)) << "a wrong guess";
  EXPECT_TRUE(is_watched(scene, kernel));
  EXPECT_TRUE(is_watched(scene, kernel));
}

TEST(PoliteByItself, OldDriverHasNoMarkersForUs) {
  sim::Options options = usual_driver();
  options.platform_version = "OpenCL 1.1 sim";
  Scene scene(polite(), options);
  const cl_kernel kernel = scene.make_kernel();
  lasts(scene, 1s);
  EXPECT_FALSE(is_watched(scene, kernel));
}

struct InCallback {
  Scene* scene;
  cl_int finished = 1;
};

TEST(PoliteByItself, WaitInACallbackIsTheDriversOwn) {
  Scene scene(polite());
  const cl_kernel kernel = scene.make_kernel();
  for (const bool split : {true, false}) {
    cl_event event = nullptr;
    if (split) {
      ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
    } else {
      ASSERT_EQ(scene.cl.clEnqueueMarkerWithWaitList(scene.queue, 0, nullptr, &event), CL_SUCCESS);
    }
    InCallback told{&scene};
    scene.driver.forget();
    ASSERT_EQ(scene.cl.clSetEventCallback(
                  event, CL_COMPLETE,
                  [](cl_event, cl_int, void* data) {
                    auto& told = *static_cast<InCallback*>(data);
                    told.finished = told.scene->cl.clFinish(told.scene->queue);
                  },
                  &told),
              CL_SUCCESS);
    scene.driver.run_until_idle();
    EXPECT_EQ(told.finished, CL_SUCCESS);
    EXPECT_EQ(scene.driver.count(kMarker), 0U);
    scene.cl.clReleaseEvent(event);
  }
  lasts(scene, 1s);
  EXPECT_TRUE(is_watched(scene, kernel)) << "after the callback it is as before";
}

TEST(PoliteByItself, RefusedCallbackIsNotKept) {
  Scene scene(polite());
  cl_event event = nullptr;
  ASSERT_EQ(scene.cl.clEnqueueMarkerWithWaitList(scene.queue, 0, nullptr, &event), CL_SUCCESS);
  const auto nothing = [](cl_event, cl_int, void*) {};
  EXPECT_EQ(scene.cl.clSetEventCallback(event, 17, nothing, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_COMPLETE, nullptr, nullptr), CL_INVALID_VALUE);
  scene.cl.clReleaseEvent(event);
}

}  // namespace
}  // namespace cleave
