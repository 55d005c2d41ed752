// Events: failure, profiling, callbacks, queries.
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver_fixture.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

constexpr cl_int inherited = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

using Event = DriverTest<>;

struct CallbackLog {
  CallbackLog() = default;
  CallbackLog(const CallbackLog&) = delete;
  CallbackLog& operator=(const CallbackLog&) = delete;

  std::vector<cl_int> statuses;
  std::vector<Nanoseconds> times;
  Driver* driver = nullptr;
  const kit::Setup::EventAction action = [this](cl_event, cl_int status) {
    statuses.push_back(status);
    if (driver != nullptr) times.push_back(driver->clock().now());
  };
};

TEST_F(Event, FailurePropagatesToDependents) {
  driver.fail_execution("idle", 1, -42);
  const cl_event failed = launch(queue, make_kernel("idle"));
  const cl_event waiting = launch(queue, make_kernel("other"), 1, {failed});
  const cl_event next = launch(queue, make_kernel("other"), 1, {waiting});
  const cl_event plain = launch(queue, make_kernel("other"));
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(status(failed), -42);
  EXPECT_EQ(status(waiting), inherited);
  EXPECT_EQ(status(next), inherited);
  EXPECT_EQ(status(plain), CL_COMPLETE);
}

TEST_F(Event, FailedCommandWritesNoData) {
  const cl_mem buffer = make_buffer({0});
  const cl_kernel kernel = make_add(buffer, 1);
  driver.fail_execution("add", 2, CL_OUT_OF_RESOURCES);
  for (int i = 0; i < 3; ++i) launch(queue, kernel);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{2});
  EXPECT_EQ(driver.faults_left(), 0u);
}

TEST_F(Event, WaitForAFailedEventReturnsItsError) {
  driver.fail_execution("idle", 1, -5);
  const cl_event failed = launch(queue, make_kernel("idle"));
  const cl_event fine = launch(queue, make_kernel("idle"));
  const cl_event both[] = {fine, failed};
  EXPECT_EQ(cl.clWaitForEvents(2, both), inherited);
  EXPECT_EQ(cl.wait({fine}), CL_SUCCESS);
}

TEST_F(Event, BlockingReadWithAFailedWaitListReturnsNoEvent) {
  const cl_mem buffer = make_buffer({7});
  const cl_event gate = user_event();
  cl.clSetUserEventStatus(gate, -9);
  cl_int seen = 0;
  cl_event event = nullptr;
  EXPECT_EQ(cl.read(queue, buffer, kit::Blocking::yes, std::span(&seen, 1), 0, {gate}, &event), inherited);
  EXPECT_EQ(event, nullptr);
  EXPECT_EQ(seen, 0);
}

TEST_F(Event, UserEventCanBeSetOnce) {
  const cl_event gate = user_event();
  EXPECT_EQ(status(gate), CL_SUBMITTED);
  EXPECT_EQ(cl.clSetUserEventStatus(gate, CL_RUNNING), CL_INVALID_VALUE);
  EXPECT_EQ(cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
  const cl_event command = launch(queue, make_kernel("idle"));
  EXPECT_EQ(cl.clSetUserEventStatus(command, CL_COMPLETE), CL_INVALID_EVENT);
}

TEST(ConfiguredEvent, ProfilingUsesTheVirtualClock) {
  Options options;
  options.enqueue_cost = 1us;
  options.submit_delay = 2us;
  options.per_launch = 10us;
  options.per_item = 0ns;
  DriverFixture fixture(options, CL_QUEUE_PROFILING_ENABLE);
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event event = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.profiled(event, CL_PROFILING_COMMAND_QUEUED), 2us);
  EXPECT_EQ(fixture.profiled(event, CL_PROFILING_COMMAND_SUBMIT), 4us);
  EXPECT_EQ(fixture.profiled(event, CL_PROFILING_COMMAND_START), 13us);
  EXPECT_EQ(fixture.profiled(event, CL_PROFILING_COMMAND_END), 23us);
}

TEST(ConfiguredEvent, ProfilingNeedsACompleteCommandOnAProfilingQueue) {
  DriverFixture fixture({}, CL_QUEUE_PROFILING_ENABLE);
  cl_ulong time = 0;
  const auto ask = [&](cl_event event) {
    return fixture.cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
  };
  fixture.driver.fail_execution("idle", 2, -1);
  const cl_event good = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event bad = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event unprofiled = fixture.launch(fixture.make_queue(), fixture.make_kernel("other"));
  EXPECT_EQ(ask(good), CL_PROFILING_INFO_NOT_AVAILABLE);
  fixture.driver.run_until_idle();
  EXPECT_EQ(ask(good), CL_SUCCESS);
  EXPECT_EQ(ask(bad), CL_PROFILING_INFO_NOT_AVAILABLE);
  EXPECT_EQ(ask(unprofiled), CL_PROFILING_INFO_NOT_AVAILABLE);
  EXPECT_EQ(ask(fixture.user_event()), CL_PROFILING_INFO_NOT_AVAILABLE);
}

TEST(ConfiguredEvent, CallbacksRunWhenTheirStatusIsReached) {
  Options options;
  options.enqueue_cost = 0ns;
  options.submit_delay = 1us;
  options.per_launch = 10us;
  options.per_item = 0ns;
  DriverFixture fixture(options);
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event event = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  CallbackLog log;
  log.driver = &fixture.driver;
  for (const cl_int status : {CL_COMPLETE, CL_RUNNING, CL_SUBMITTED}) {
    fixture.at_status(event, status, log.action);
  }
  fixture.driver.clock().sleep_for(1ms);
  EXPECT_EQ(log.statuses, (std::vector<cl_int>{CL_SUBMITTED, CL_RUNNING, CL_COMPLETE}));
  EXPECT_EQ(log.times, (std::vector<Nanoseconds>{1us, 11us, 21us}));
}

TEST_F(Event, CallbackForAPassedStatusRunsAtOnce) {
  const cl_event event = launch(queue, make_kernel("idle"));
  cl.clFinish(queue);
  CallbackLog log;
  at_status(event, CL_RUNNING, log.action);
  EXPECT_EQ(log.statuses, std::vector<cl_int>{CL_RUNNING});
}

TEST_F(Event, CallbacksOfFailedCommandsReceiveTheError) {
  driver.fail_execution("idle", 1, -7);
  const cl_event event = launch(queue, make_kernel("idle"));
  CallbackLog log;
  at_status(event, CL_COMPLETE, log.action);
  cl.clFinish(queue);
  at_status(event, CL_COMPLETE, log.action);
  EXPECT_EQ(log.statuses, (std::vector<cl_int>{-7, -7}));
}

TEST_F(Event, CallbacksMayCallOpenCL) {
  const cl_event gate = user_event();
  const cl_event first = launch(queue, make_kernel("idle"));
  launch(queue, make_kernel("idle"), 1, {gate});
  const EventAction open = [&](cl_event, cl_int) { cl.clSetUserEventStatus(gate, CL_COMPLETE); };
  at_status(first, CL_COMPLETE, open);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_FALSE(driver.hung());
}

TEST_F(Event, CallbackOutlivesTheCallersReference) {
  cl_event event = nullptr;
  cl.launch(queue, make_kernel("idle"), {1}, {}, &event);
  CallbackLog log;
  at_status(event, CL_COMPLETE, log.action);
  EXPECT_EQ(cl.clReleaseEvent(event), CL_SUCCESS);
  cl.clFinish(queue);
  EXPECT_EQ(log.statuses, std::vector<cl_int>{CL_COMPLETE});
  EXPECT_EQ(driver.live(Kind::event), 0u);
}

TEST_F(Event, QueriesReportItsOrigin) {
  const cl_event event = launch(queue, make_kernel("idle"));
  EXPECT_EQ(cl.info<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE), queue);
  EXPECT_EQ(cl.info<cl_context>(event, CL_EVENT_CONTEXT), context);
  EXPECT_EQ(cl.info<cl_command_type>(event, CL_EVENT_COMMAND_TYPE),
            cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
  EXPECT_EQ(cl.info<cl_command_queue>(user_event(), CL_EVENT_COMMAND_QUEUE), nullptr);
}

TEST_F(Event, UnsetUserEventIsFreed) {
  kit::Event event = cl.user_event(context);
  CallbackLog log;
  at_status(event, CL_COMPLETE, log.action);
  event.reset();
  EXPECT_EQ(driver.live(Kind::event), 0u);
  EXPECT_TRUE(log.statuses.empty());
}

}  // namespace
}  // namespace cleave::sim
