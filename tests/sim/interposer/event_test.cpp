// The event of a split launch is that of one command.

#include <algorithm>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using SplitEvent = LaunchTest<>;
using ProfiledSplitEvent = LaunchTest<default_settings, default_driver, CL_QUEUE_PROFILING_ENABLE>;

TEST_F(ProfiledSplitEvent, ProfilingSpansFirstToLastSlice) {
  const kit::Event event = launch_event(kernel);
  cl.clFinish(queue);
  const auto slices = driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  const auto ns = [](auto time) { return static_cast<cl_ulong>(time.count()); };
  EXPECT_EQ(cl.profiled(event, CL_PROFILING_COMMAND_QUEUED), ns(slices.front().queued));
  EXPECT_EQ(cl.profiled(event, CL_PROFILING_COMMAND_SUBMIT), ns(slices.front().submitted));
  EXPECT_EQ(cl.profiled(event, CL_PROFILING_COMMAND_START), ns(slices.front().started));
  EXPECT_EQ(cl.profiled(event, CL_PROFILING_COMMAND_END), ns(slices.back().ended));
  EXPECT_LE(cl.profiled(event, CL_PROFILING_COMMAND_START), cl.profiled(event, CL_PROFILING_COMMAND_END));
}

TEST(SplitEventProfiling, IsUnavailableBeforeTheEndOrWithoutAProfilingQueue) {
  for (const auto properties :
       {cl_command_queue_properties{0}, cl_command_queue_properties{CL_QUEUE_PROFILING_ENABLE}}) {
    InterposerFixture fixture(default_settings(), default_driver(), properties);
    const cl_kernel kernel = fixture.make_kernel();
    cl_event gate = fixture.user_event();
    const kit::Event event = fixture.launch_event(kernel, {gate});
    cl_ulong time = 0;
    EXPECT_EQ(
        fixture.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof time, &time, nullptr),
        CL_PROFILING_INFO_NOT_AVAILABLE);
    fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
    fixture.cl.clFinish(fixture.queue);
    EXPECT_EQ(
        fixture.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, nullptr),
        properties == 0 ? CL_PROFILING_INFO_NOT_AVAILABLE : CL_SUCCESS);
  }
}

TEST_F(SplitEvent, StatusSpansFirstToLastSlice) {
  cl_event gate = user_event();
  const kit::Event event = launch_event(kernel, {gate});
  cl.clFlush(queue);
  EXPECT_GE(status(event), CL_SUBMITTED);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  bool ran = false;
  for (cl_int before = CL_QUEUED; before != CL_COMPLETE;) {
    driver.clock().sleep_for(base::Nanoseconds(1000));
    const cl_int now = status(event);
    EXPECT_LE(now, before) << "states only go forward";
    ran |= now == CL_RUNNING;
    const bool last_has_ended =
        driver.executions().size() == 20 && driver.executions().back().ended != base::Nanoseconds(0);
    EXPECT_TRUE(now != CL_COMPLETE || last_has_ended);
    before = now;
  }
  EXPECT_TRUE(ran) << "running for nearly all of its slices, not only for the last";
}

TEST_F(SplitEvent, CallbacksRunOnceWithTheCallersEvent) {
  cl_event gate = user_event();
  cl_event event = nullptr;
  ASSERT_EQ(launch(kernel, &event, {gate}), CL_SUCCESS);
  CallbackLog submitted;
  CallbackLog running;
  CallbackLog complete;
  at_status(event, CL_SUBMITTED, submitted.action);
  at_status(event, CL_RUNNING, running.action);
  at_status(event, CL_COMPLETE, complete.action);
  EXPECT_EQ(cl.clSetEventCallback(event, CL_RUNNING, nullptr, nullptr), CL_INVALID_VALUE);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  driver.clock().sleep_for(base::Nanoseconds(30'000));  // into the second or third slice
  EXPECT_EQ(running.times, 1);
  EXPECT_EQ(running.event, event);
  EXPECT_EQ(running.status, CL_RUNNING);
  EXPECT_EQ(complete.times, 0);
  cl.clFinish(queue);
  EXPECT_EQ(submitted.times, 1);
  EXPECT_EQ(running.times, 1);
  EXPECT_EQ(complete.times, 1);
  EXPECT_EQ(complete.event, event);
  cl.clReleaseEvent(event);
}

TEST_F(SplitEvent, CallbackOutlivesTheCallersReference) {
  kit::Event event = launch_event(kernel);
  CallbackLog running;
  at_status(event, CL_RUNNING, running.action);
  event.reset();
  cl.clFinish(queue);
  EXPECT_EQ(running.times, 1);
}

TEST_F(ProfiledSplitEvent, AnswersForTheLaunchInsideALateCallback) {
  kit::Event event = launch_event(kernel);
  cl_ulong start = 0;
  const EventAction ask = [&](cl_event completed, cl_int) {
    start = cl.profiled(completed, CL_PROFILING_COMMAND_START);
  };
  at_status(event, CL_COMPLETE, ask);
  event.reset();
  cl.clFinish(queue);
  EXPECT_EQ(start, static_cast<cl_ulong>(driver.launches().front().started.count()));
}

TEST_F(SplitEvent, QueriesEqualThoseOfAnUnsplitLaunch) {
  cl_event gate = user_event();
  cl_event event = nullptr;
  ASSERT_EQ(launch(kernel, &event, {gate}), CL_SUCCESS);
  EXPECT_EQ(cl.info<cl_command_type>(event, CL_EVENT_COMMAND_TYPE),
            cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
  EXPECT_EQ(cl.info<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE), queue);
  EXPECT_EQ(cl.info<cl_context>(event, CL_EVENT_CONTEXT), context);
  EXPECT_EQ(cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT), 1U);
  cl.clRetainEvent(event);
  EXPECT_EQ(cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT), 2U);
  cl.clReleaseEvent(event);
  EXPECT_EQ(cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT), 1U);
  cl.clReleaseEvent(event);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
}

TEST_F(ProfiledSplitEvent, QuerySizesAreChecked) {
  const kit::Event event = launch_event(kernel);
  cl.clFinish(queue);
  std::size_t size = 0;
  cl_ulong time = 0;
  EXPECT_EQ(cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 0, nullptr, &size), CL_SUCCESS);
  EXPECT_EQ(size, sizeof(cl_int));
  EXPECT_EQ(cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, 1, &time, nullptr), CL_INVALID_VALUE);
  EXPECT_EQ(cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 4, &time, nullptr),
            CL_INVALID_VALUE);
  EXPECT_EQ(cl.clGetEventProfilingInfo(event, 0x9999, sizeof time, &time, nullptr), CL_INVALID_VALUE);
}

TEST_F(SplitEvent, LaterCommandsWaitForAllSlices) {
  cl_command_queue other = make_queue();
  cl_event gate = user_event();
  const kit::Event event = launch_event(kernel, {gate});
  ASSERT_EQ(launch_on(other, kernel, nullptr, {event}), CL_SUCCESS);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  cl.clFinish(other);
  const auto order = driver.executions();
  ASSERT_EQ(order.size(), 40U);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(order[i].queue, order[0].queue);
  expect_each_item_ran(2);
}

TEST_F(SplitEvent, ProfilingIsNeverEnabledByCleave) {
  cl_command_queue_properties properties = 0;
  make_kernel();
  cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
  EXPECT_EQ(properties & CL_QUEUE_PROFILING_ENABLE, 0U);
}

}  // namespace
}  // namespace cleave
