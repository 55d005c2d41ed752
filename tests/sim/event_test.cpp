// Events: failure, profiling, callbacks, queries.
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/rig.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

constexpr cl_int inherited = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

struct Told {
  std::vector<cl_int> statuses;
  std::vector<Nanoseconds> times;
  Driver* driver = nullptr;

  static void CL_CALLBACK callback(cl_event, cl_int status, void* data) {
    auto& told = *static_cast<Told*>(data);
    told.statuses.push_back(status);
    if (told.driver != nullptr) told.times.push_back(told.driver->clock().now());
  }
};

TEST(Event, FailureReachesThoseThatWaitForIt) {
  Rig rig;
  rig.driver.fail_execution("idle", 1, -42);
  const cl_event failed = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event waiting = rig.launch(rig.queue, rig.make_kernel("other"), 1, {failed});
  const cl_event next = rig.launch(rig.queue, rig.make_kernel("other"), 1, {waiting});
  const cl_event plain = rig.launch(rig.queue, rig.make_kernel("other"));
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_SUCCESS);
  EXPECT_EQ(rig.status(failed), -42);
  EXPECT_EQ(rig.status(waiting), inherited);
  EXPECT_EQ(rig.status(next), inherited);
  EXPECT_EQ(rig.status(plain), CL_COMPLETE);
}

TEST(Event, AFailedCommandChangesNoData) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({0});
  const cl_kernel kernel = rig.make_add(buffer, 1);
  rig.driver.fail_execution("add", 2, CL_OUT_OF_RESOURCES);
  for (int i = 0; i < 3; ++i) rig.launch(rig.queue, kernel);
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{2});
  EXPECT_EQ(rig.driver.faults_left(), 0u);
}

TEST(Event, WaitingForAFailedEventSaysSo) {
  Rig rig;
  rig.driver.fail_execution("idle", 1, -5);
  const cl_event failed = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event fine = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event both[] = {fine, failed};
  EXPECT_EQ(rig.cl.clWaitForEvents(2, both), inherited);
  EXPECT_EQ(rig.cl.clWaitForEvents(1, &fine), CL_SUCCESS);
}

TEST(Event, ABlockingReadReportsAFailedWaitListAndGivesNoEvent) {
  Rig rig;
  const cl_mem buffer = rig.make_buffer({7});
  const cl_event gate = rig.user_event();
  rig.cl.clSetUserEventStatus(gate, -9);
  cl_int seen = 0;
  cl_event event = nullptr;
  EXPECT_EQ(rig.cl.clEnqueueReadBuffer(rig.queue, buffer, CL_TRUE, 0, sizeof seen, &seen, 1, &gate, &event),
            inherited);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(seen, 0);
}

TEST(Event, AUserEventCanBeSetOnce) {
  Rig rig;
  const cl_event gate = rig.user_event();
  EXPECT_EQ(rig.status(gate), CL_SUBMITTED);
  EXPECT_EQ(rig.cl.clSetUserEventStatus(gate, CL_RUNNING), CL_INVALID_VALUE);
  EXPECT_EQ(rig.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(rig.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
  const cl_event command = rig.launch(rig.queue, rig.make_kernel("idle"));
  EXPECT_EQ(rig.cl.clSetUserEventStatus(command, CL_COMPLETE), CL_INVALID_EVENT);
}

TEST(Event, ProfilingIsThatOfTheVirtualClock) {
  Options options;
  options.enqueue_cost = 1us;
  options.submit_delay = 2us;
  options.per_launch = 10us;
  options.per_item = 0ns;
  Rig rig(options, CL_QUEUE_PROFILING_ENABLE);
  rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(rig.profiled(event, CL_PROFILING_COMMAND_QUEUED), 2us);
  EXPECT_EQ(rig.profiled(event, CL_PROFILING_COMMAND_SUBMIT), 4us);
  EXPECT_EQ(rig.profiled(event, CL_PROFILING_COMMAND_START), 13us);
  EXPECT_EQ(rig.profiled(event, CL_PROFILING_COMMAND_END), 23us);
}

TEST(Event, ProfilingIsOnlyForCompleteCommandsOfProfilingQueues) {
  Rig rig({}, CL_QUEUE_PROFILING_ENABLE);
  cl_ulong time = 0;
  const auto ask = [&](cl_event event) {
    return rig.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
  };
  rig.driver.fail_execution("idle", 2, -1);
  const cl_event good = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event bad = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event unprofiled = rig.launch(rig.make_queue(), rig.make_kernel("other"));
  EXPECT_EQ(ask(good), CL_PROFILING_INFO_NOT_AVAILABLE);
  rig.driver.run_until_idle();
  EXPECT_EQ(ask(good), CL_SUCCESS);
  EXPECT_EQ(ask(bad), CL_PROFILING_INFO_NOT_AVAILABLE);
  EXPECT_EQ(ask(unprofiled), CL_PROFILING_INFO_NOT_AVAILABLE);
  EXPECT_EQ(ask(rig.user_event()), CL_PROFILING_INFO_NOT_AVAILABLE);
}

TEST(Event, CallbacksComeWhenTimePassesTheirStatus) {
  Options options;
  options.enqueue_cost = 0ns;
  options.submit_delay = 1us;
  options.per_launch = 10us;
  options.per_item = 0ns;
  Rig rig(options);
  rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  Told told;
  told.driver = &rig.driver;
  for (const cl_int status : {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED}) {
    EXPECT_EQ(rig.cl.clSetEventCallback(event, status, Told::callback, &told), CL_SUCCESS);
  }
  rig.driver.clock().sleep_for(1ms);
  EXPECT_EQ(told.statuses, (std::vector<cl_int>{CL_SUBMITTED, CL_RUNNING, CL_COMPLETE}));
  EXPECT_EQ(told.times, (std::vector<Nanoseconds>{1us, 11us, 21us}));
}

TEST(Event, ACallbackForThePastComesAtOnce) {
  Rig rig;
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.cl.clFinish(rig.queue);
  Told told;
  EXPECT_EQ(rig.cl.clSetEventCallback(event, CL_RUNNING, Told::callback, &told), CL_SUCCESS);
  EXPECT_EQ(told.statuses, std::vector<cl_int>{CL_RUNNING});
}

TEST(Event, CallbacksOfFailedCommandsGetTheError) {
  Rig rig;
  rig.driver.fail_execution("idle", 1, -7);
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  Told told;
  rig.cl.clSetEventCallback(event, CL_COMPLETE, Told::callback, &told);
  rig.cl.clFinish(rig.queue);
  rig.cl.clSetEventCallback(event, CL_COMPLETE, Told::callback, &told);
  EXPECT_EQ(told.statuses, (std::vector<cl_int>{-7, -7}));
}

TEST(Event, CallbacksMayCallOpenCL) {
  Rig rig;
  struct Gate {
    Rig& rig;
    cl_event event;
  } gate{rig, rig.user_event()};
  const cl_event first = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.launch(rig.queue, rig.make_kernel("idle"), 1, {gate.event});
  const auto open = [](cl_event, cl_int, void* data) {
    const auto& to_open = *static_cast<Gate*>(data);
    to_open.rig.cl.clSetUserEventStatus(to_open.event, CL_COMPLETE);
  };
  EXPECT_EQ(rig.cl.clSetEventCallback(first, CL_COMPLETE, open, &gate), CL_SUCCESS);
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_SUCCESS);
  EXPECT_FALSE(rig.driver.hung());
}

TEST(Event, ACallbackOutlivesTheProgramsReference) {
  Rig rig;
  const std::size_t one = 1;
  cl_event event = nullptr;
  rig.cl.clEnqueueNDRangeKernel(rig.queue, rig.make_kernel("idle"), 1, nullptr, &one, nullptr, 0, nullptr,
                                &event);
  Told told;
  rig.cl.clSetEventCallback(event, CL_COMPLETE, Told::callback, &told);
  EXPECT_EQ(rig.cl.clReleaseEvent(event), CL_SUCCESS);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(told.statuses, std::vector<cl_int>{CL_COMPLETE});
  EXPECT_EQ(rig.driver.live(Kind::event), 0u);
}

TEST(Event, QueriesSayWhereItCameFrom) {
  Rig rig;
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  cl_command_queue queue = nullptr;
  cl_context context = nullptr;
  cl_command_type type = 0;
  rig.cl.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
  rig.cl.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, nullptr);
  rig.cl.clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, nullptr);
  EXPECT_EQ(queue, rig.queue);
  EXPECT_EQ(context, rig.context);
  EXPECT_EQ(type, static_cast<cl_command_type>(CL_COMMAND_NDRANGE_KERNEL));
  rig.cl.clGetEventInfo(rig.user_event(), CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, nullptr);
  EXPECT_EQ(queue, nullptr);
}

TEST(Event, AnUnsetUserEventLeavesNothingBehind) {
  Driver driver;
  const cl_icd_dispatch& cl = Driver::table();
  const cl_device_id device = driver.device();
  const cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_event event = cl.clCreateUserEvent(context, nullptr);
  Told told;
  cl.clSetEventCallback(event, CL_COMPLETE, Told::callback, &told);
  cl.clReleaseEvent(event);
  cl.clReleaseContext(context);
  EXPECT_EQ(driver.live_total(), 0u);
  EXPECT_TRUE(told.statuses.empty());
}

}  // namespace
}  // namespace cleave::sim
