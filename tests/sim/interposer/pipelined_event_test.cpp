// The event of a pipelined launch is that of one command.

#include <chrono>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class PipelinedEvent : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(PipelinedEvent, ProfilingSpansEarliestToLatestSlice) {
  // Few enough slices that the program's queue, and with it the first of them, is flushed after the helpers.
  InterposerFixture fixture(
      kit::with(pipelined_settings(), &base::Settings::policy, {base::SplitPolicy::Kind::fixed, 10}),
      lazy_flush_driver(), GetParam() | CL_QUEUE_PROFILING_ENABLE);
  make_slices_uneven(fixture);
  const cl_kernel kernel = fixture.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(fixture.launch(kernel, &event), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().pipelined, 1U);
  fixture.cl.clFinish(fixture.queue);
  auto earliest = fixture.driver.launches().front();
  base::Nanoseconds end{0};
  for (const auto& slice : fixture.driver.launches()) {
    earliest.queued = std::min(earliest.queued, slice.queued);
    earliest.submitted = std::min(earliest.submitted, slice.submitted);
    earliest.started = std::min(earliest.started, slice.started);
    end = std::max(end, slice.ended);
  }
  const auto ns = [](auto time) { return static_cast<cl_ulong>(time.count()); };
  EXPECT_EQ(fixture.cl.profiled(event, CL_PROFILING_COMMAND_QUEUED), ns(earliest.queued));
  EXPECT_EQ(fixture.cl.profiled(event, CL_PROFILING_COMMAND_SUBMIT), ns(earliest.submitted));
  EXPECT_EQ(fixture.cl.profiled(event, CL_PROFILING_COMMAND_START), ns(earliest.started));
  EXPECT_EQ(fixture.cl.profiled(event, CL_PROFILING_COMMAND_END), ns(end));
  fixture.cl.clReleaseEvent(event);
}

TEST_P(PipelinedEvent, QueriesEqualThoseOfAnUnsplitLaunch) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);
  const kit::Event event = fixture.launch_event(kernel, {gate.get()});
  EXPECT_EQ(fixture.cl.info<cl_command_type>(event, CL_EVENT_COMMAND_TYPE),
            cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
  EXPECT_EQ(fixture.cl.info<cl_command_queue>(event, CL_EVENT_COMMAND_QUEUE), fixture.queue);
  EXPECT_EQ(fixture.cl.info<cl_context>(event, CL_EVENT_CONTEXT), fixture.context);
  EXPECT_EQ(fixture.cl.info<cl_uint>(event, CL_EVENT_REFERENCE_COUNT), 1U);
  EXPECT_GE(fixture.status(event), CL_SUBMITTED);
  gate.open();
}

TEST_P(PipelinedEvent, StatusAdvancesAndCompletesAfterAllSlices) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver(), GetParam());
  make_slices_uneven(fixture);
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);
  const kit::Event event = fixture.launch_event(kernel, {gate.get()});
  fixture.cl.clFlush(fixture.queue);
  gate.open();
  bool ran = false;
  for (cl_int before = CL_QUEUED; before != CL_COMPLETE;) {
    fixture.driver.clock().sleep_for(1us);
    const cl_int now = fixture.status(event);
    EXPECT_LE(now, before) << "states only go forward";
    const auto slices = fixture.driver.executions();
    const auto ended = std::count_if(slices.begin(), slices.end(),
                                     [](const auto& slice) { return slice.status == CL_COMPLETE; });
    EXPECT_EQ(now == CL_COMPLETE, ended == 20);
    EXPECT_TRUE(slices.empty() || now <= CL_RUNNING) << "as soon as any slice runs";
    ran |= now == CL_RUNNING;
    before = now;
  }
  EXPECT_TRUE(ran);
}

TEST_P(PipelinedEvent, FailedSliceFailsTheLaunch) {
  expect_a_failed_slice_fails_the_launch(pipelined_settings(), concurrent_driver(), GetParam());
}

TEST_P(PipelinedEvent, CallbacksRunOnceAndOutliveTheCallersReference) {
  InterposerFixture fixture(pipelined_settings(), concurrent_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  DriverOnlyEvent gate(fixture);
  cl_event event = nullptr;
  ASSERT_EQ(fixture.launch(kernel, &event, {gate.get()}), CL_SUCCESS);
  std::array<CallbackLog, 3> logs;
  const std::array<cl_int, 3> states{CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
  for (std::size_t i = 0; i < logs.size(); ++i) fixture.at_status(event, states[i], logs[i].action);
  fixture.cl.clReleaseEvent(event);
  gate.open();
  fixture.cl.clFinish(fixture.queue);
  for (const CallbackLog& each : logs) {
    EXPECT_EQ(each.times, 1);
    EXPECT_EQ(each.event, event);
  }
}

TEST_P(PipelinedEvent, OtherQueuesWaitForAllSlices) {
  for (const bool lazy : {false, true}) {
    const sim::Options options = lazy ? lazy_flush_driver() : concurrent_driver();
    InterposerFixture fixture(pipelined_settings(), options, GetParam());
    make_slices_uneven(fixture);
    const cl_program program = fixture.make_program(kSplittable);
    const cl_kernel first = fixture.make_kernel(program, "add");
    const cl_kernel second = fixture.make_kernel(program, "sum");
    cl_command_queue other = fixture.make_queue();
    const kit::Event event = fixture.launch_event(first);
    ASSERT_EQ(fixture.cl.clFlush(fixture.queue), CL_SUCCESS);
    ASSERT_EQ(fixture.launch_on(other, second, nullptr, {event}), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.clFinish(other), CL_SUCCESS);
    base::Nanoseconds end{0};
    for (const auto& slice : fixture.driver.executions()) {
      if (slice.kernel == "add") end = std::max(end, slice.ended);
    }
    for (const auto& slice : fixture.driver.executions()) {
      if (slice.kernel == "sum") {
        EXPECT_GE(slice.started, end);
      }
    }
    fixture.expect_each_item_ran(2);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, PipelinedEvent, testing::ValuesIn(kQueueOrders), queue_order_name);

}  // namespace
}  // namespace cleave
