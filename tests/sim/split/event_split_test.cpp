// The event of a split launch is that of one command.

#include <algorithm>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

cl_ulong profiled(const Table& cl, cl_event event, cl_profiling_info what) {
  cl_ulong time = 0;
  EXPECT_EQ(cl.clGetEventProfilingInfo(event, what, sizeof time, &time, nullptr), CL_SUCCESS);
  return time;
}

TEST(Event, BeginsWithTheFirstSliceAndEndsWithTheLast) {
  Scene scene(usual_settings(), usual_driver(), CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  scene.cl.clFinish(scene.queue);
  const auto slices = scene.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  const auto ns = [](auto time) { return static_cast<cl_ulong>(time.count()); };
  EXPECT_EQ(profiled(scene.cl, event, CL_PROFILING_COMMAND_QUEUED), ns(slices.front().queued));
  EXPECT_EQ(profiled(scene.cl, event, CL_PROFILING_COMMAND_SUBMIT), ns(slices.front().submitted));
  EXPECT_EQ(profiled(scene.cl, event, CL_PROFILING_COMMAND_START), ns(slices.front().started));
  EXPECT_EQ(profiled(scene.cl, event, CL_PROFILING_COMMAND_END), ns(slices.back().ended));
  EXPECT_LE(profiled(scene.cl, event, CL_PROFILING_COMMAND_START),
            profiled(scene.cl, event, CL_PROFILING_COMMAND_END));
  scene.cl.clReleaseEvent(event);
}

TEST(Event, ProfilingIsNotToBeHadBeforeTheEndNorWhereTheQueueHasNone) {
  for (const auto properties :
       {cl_command_queue_properties{0}, cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE}}) {
    Scene scene(usual_settings(), usual_driver(), properties);
    const cl_kernel kernel = scene.make_kernel();
    cl_event gate = scene.user_event();
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
    cl_ulong time = 0;
    EXPECT_EQ(
        scene.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof time, &time, nullptr),
        CL_PROFILING_INFO_NOT_AVAILABLE);
    scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
    scene.cl.clFinish(scene.queue);
    EXPECT_EQ(
        scene.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, nullptr),
        properties == 0 ? CL_PROFILING_INFO_NOT_AVAILABLE : CL_SUCCESS);
    scene.cl.clReleaseEvent(event);
  }
}

TEST(Event, RunsFromTheFirstSliceOnAndIsCompleteAfterTheLast) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  scene.cl.clFlush(scene.queue);
  EXPECT_GE(scene.status(event), CL_SUBMITTED);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  bool ran = false;
  for (cl_int before = CL_QUEUED; before != CL_COMPLETE;) {
    scene.driver.clock().sleep_for(base::Nanoseconds(1000));
    const cl_int now = scene.status(event);
    EXPECT_LE(now, before) << "states only go forward";
    ran |= now == CL_RUNNING;
    const bool last_has_ended = scene.driver.executions().size() == 20 &&
                                scene.driver.executions().back().ended != base::Nanoseconds(0);
    EXPECT_TRUE(now != CL_COMPLETE || last_has_ended);
    before = now;
  }
  EXPECT_TRUE(ran) << "running for nearly all of its slices, not only for the last";
  scene.cl.clReleaseEvent(event);
}

struct Heard {
  cl_event event = nullptr;
  cl_int status = 1000;
  int times = 0;
};

void CL_CALLBACK hear(cl_event event, cl_int status, void* data) {
  auto* const heard = static_cast<Heard*>(data);
  heard->event = event;
  heard->status = status;
  ++heard->times;
}

TEST(Event, CallbacksComeOnceWithTheProgramsEventAtTheRightTime) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  Heard submitted;
  Heard running;
  Heard complete;
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_SUBMITTED, hear, &submitted), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_RUNNING, hear, &running), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_COMPLETE, hear, &complete), CL_SUCCESS);
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_RUNNING, nullptr, nullptr), CL_INVALID_VALUE);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.driver.clock().sleep_for(base::Nanoseconds(30'000));  // into the second or third slice
  EXPECT_EQ(running.times, 1);
  EXPECT_EQ(running.event, event);
  EXPECT_EQ(running.status, CL_RUNNING);
  EXPECT_EQ(complete.times, 0);
  scene.cl.clFinish(scene.queue);
  EXPECT_EQ(submitted.times, 1);
  EXPECT_EQ(running.times, 1);
  EXPECT_EQ(complete.times, 1);
  EXPECT_EQ(complete.event, event);
  scene.cl.clReleaseEvent(event);
}

TEST(Event, CallbackOutlivesTheProgramsReference) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  Heard running;
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_RUNNING, hear, &running), CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
  scene.cl.clFinish(scene.queue);
  EXPECT_EQ(running.times, 1);
}

TEST(Event, AnswersForTheWholeLaunchAlsoWithinACallbackAfterItsRelease) {
  Scene scene(usual_settings(), usual_driver(), CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  struct Asked {
    const Table& cl;
    cl_ulong start;
  } asked{scene.cl, 0};
  const auto ask = [](cl_event completed, cl_int, void* data) {
    auto* const to = static_cast<Asked*>(data);
    to->start = profiled(to->cl, completed, CL_PROFILING_COMMAND_START);
  };
  EXPECT_EQ(scene.cl.clSetEventCallback(event, CL_COMPLETE, ask, &asked), CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
  scene.cl.clFinish(scene.queue);
  EXPECT_EQ(asked.start, static_cast<cl_ulong>(scene.driver.launches().front().started.count()));
}

template <typename T>
T info(const Table& cl, cl_event event, cl_event_info what) {
  T value{};
  EXPECT_EQ(cl.clGetEventInfo(event, what, sizeof value, &value, nullptr), CL_SUCCESS);
  return value;
}

TEST(Event, SaysOfItselfWhatTheWholeLaunchsWould) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  EXPECT_EQ(info<cl_command_type>(scene.cl, event, CL_EVENT_COMMAND_TYPE),
            cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
  EXPECT_EQ(info<cl_command_queue>(scene.cl, event, CL_EVENT_COMMAND_QUEUE), scene.queue);
  EXPECT_EQ(info<cl_context>(scene.cl, event, CL_EVENT_CONTEXT), scene.context);
  EXPECT_EQ(info<cl_uint>(scene.cl, event, CL_EVENT_REFERENCE_COUNT), 1U);
  scene.cl.clRetainEvent(event);
  EXPECT_EQ(info<cl_uint>(scene.cl, event, CL_EVENT_REFERENCE_COUNT), 2U);
  scene.cl.clReleaseEvent(event);
  EXPECT_EQ(info<cl_uint>(scene.cl, event, CL_EVENT_REFERENCE_COUNT), 1U);
  scene.cl.clReleaseEvent(event);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
}

TEST(Event, SizesOfQueriesAreCheckedAsEver) {
  Scene scene(usual_settings(), usual_driver(), CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  scene.cl.clFinish(scene.queue);
  std::size_t size = 0;
  cl_ulong time = 0;
  EXPECT_EQ(scene.cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 0, nullptr, &size), CL_SUCCESS);
  EXPECT_EQ(size, sizeof(cl_int));
  EXPECT_EQ(scene.cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 1, &time, nullptr),
            CL_INVALID_VALUE);
  EXPECT_EQ(scene.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 4, &time, nullptr),
            CL_INVALID_VALUE);
  EXPECT_EQ(scene.cl.clGetEventProfilingInfo(event, 0x9999, sizeof time, &time, nullptr), CL_INVALID_VALUE);
  scene.cl.clReleaseEvent(event);
}

TEST(Event, WaitListOfALaterCommandHoldsForAllSlices) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  cl_command_queue other = scene.make_queue();
  cl_event gate = scene.user_event();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate}), CL_SUCCESS);
  ASSERT_EQ(scene.launch_on(other, kernel, nullptr, {event}), CL_SUCCESS);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.cl.clFinish(other);
  const auto order = scene.driver.executions();
  ASSERT_EQ(order.size(), 40U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(order[i].queue, order[0].queue);
  scene.cl.clReleaseEvent(event);
  scene.expect_each_item_ran(2);
}

TEST(Event, ProfilingIsNeverSwitchedOn) {
  Scene scene;
  cl_command_queue_properties properties = 0;
  scene.make_kernel();
  scene.cl.clGetCommandQueueInfo(scene.queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
  EXPECT_EQ(properties & CL_QUEUE_PROFILING_ENABLE, 0U);
}

}  // namespace
}  // namespace cleave
