// The event of a pipelined launch is that of one command.

#include <chrono>

#include "tests/sim/split/pipelined.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class PipelinedEvent : public testing::TestWithParam<cl_command_queue_properties> {};

cl_ulong profiled(const Scene& scene, cl_event event, cl_profiling_info what) {
  cl_ulong time = 0;
  EXPECT_EQ(scene.cl.clGetEventProfilingInfo(event, what, sizeof time, &time, nullptr), CL_SUCCESS);
  return time;
}

TEST_P(PipelinedEvent, ProfilingIsFromTheEarliestSliceToTheLatest) {
  // Few enough slices that the program's queue, and with it the first of them, is flushed after the helpers.
  base::Settings settings = pipelined_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 10};
  Scene scene(settings, lazy_driver(), GetParam() | CL_QUEUE_PROFILING_ENABLE);
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().pipelined, 1U);
  scene.cl.clFinish(scene.queue);
  auto earliest = scene.driver.launches().front();
  base::Nanoseconds end{0};
  for (const auto& slice : scene.driver.launches()) {
    earliest.queued = std::min(earliest.queued, slice.queued);
    earliest.submitted = std::min(earliest.submitted, slice.submitted);
    earliest.started = std::min(earliest.started, slice.started);
    end = std::max(end, slice.ended);
  }
  const auto ns = [](auto time) { return static_cast<cl_ulong>(time.count()); };
  EXPECT_EQ(profiled(scene, event, CL_PROFILING_COMMAND_QUEUED), ns(earliest.queued));
  EXPECT_EQ(profiled(scene, event, CL_PROFILING_COMMAND_SUBMIT), ns(earliest.submitted));
  EXPECT_EQ(profiled(scene, event, CL_PROFILING_COMMAND_START), ns(earliest.started));
  EXPECT_EQ(profiled(scene, event, CL_PROFILING_COMMAND_END), ns(end));
  scene.cl.clReleaseEvent(event);
}

TEST_P(PipelinedEvent, SaysOfItselfWhatTheWholeLaunchsWould) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  HiddenGate gate(scene);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate.get()}), CL_SUCCESS);
  const auto ask = [&](cl_event_info what, auto value) {
    EXPECT_EQ(scene.cl.clGetEventInfo(event, what, sizeof value, &value, nullptr), CL_SUCCESS);
    return value;
  };
  EXPECT_EQ(ask(CL_EVENT_COMMAND_TYPE, cl_command_type{}), cl_command_type{CL_COMMAND_NDRANGE_KERNEL});
  EXPECT_EQ(ask(CL_EVENT_COMMAND_QUEUE, cl_command_queue{}), scene.queue);
  EXPECT_EQ(ask(CL_EVENT_CONTEXT, cl_context{}), scene.context);
  EXPECT_EQ(ask(CL_EVENT_REFERENCE_COUNT, cl_uint{}), 1U);
  EXPECT_GE(scene.status(event), CL_SUBMITTED);
  scene.cl.clReleaseEvent(event);
  gate.open();
}

TEST_P(PipelinedEvent, StatesGoForwardAndItIsCompleteAfterAllSlices) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  HiddenGate gate(scene);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate.get()}), CL_SUCCESS);
  scene.cl.clFlush(scene.queue);
  gate.open();
  bool ran = false;
  for (cl_int before = CL_QUEUED; before != CL_COMPLETE;) {
    scene.driver.clock().sleep_for(1us);
    const cl_int now = scene.status(event);
    EXPECT_LE(now, before) << "states only go forward";
    const auto slices = scene.driver.executions();
    const auto ended = std::count_if(slices.begin(), slices.end(),
                                     [](const auto& slice) { return slice.status == CL_COMPLETE; });
    EXPECT_EQ(now == CL_COMPLETE, ended == 20);
    EXPECT_TRUE(slices.empty() || now <= CL_RUNNING) << "as soon as any slice runs";
    ran |= now == CL_RUNNING;
    before = now;
  }
  EXPECT_TRUE(ran);
  scene.cl.clReleaseEvent(event);
}

TEST_P(PipelinedEvent, AnySliceThatFailsFailsTheLaunch) {
  for (unsigned k = 1; k <= 20; ++k) {
    Scene scene(pipelined_settings(), wide_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.fail_execution("add", k, -9999);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    EXPECT_LT(scene.status(event), 0) << "slice " << k;
    if (k == 1 || k == 20) {
      EXPECT_EQ(scene.status(event), -9999);
    }
    scene.cl.clReleaseEvent(event);
  }
}

struct Heard {
  cl_event event = nullptr;
  int times = 0;
};

void CL_CALLBACK hear(cl_event event, cl_int, void* data) {
  auto* const heard = static_cast<Heard*>(data);
  heard->event = event;
  ++heard->times;
}

TEST_P(PipelinedEvent, CallbacksComeOnceAndOutliveTheProgramsReference) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  HiddenGate gate(scene);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event, {gate.get()}), CL_SUCCESS);
  std::array<Heard, 3> heard;
  const std::array<cl_int, 3> states{CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
  for (std::size_t i = 0; i < heard.size(); ++i)
    EXPECT_EQ(scene.cl.clSetEventCallback(event, states[i], hear, &heard[i]), CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
  gate.open();
  scene.cl.clFinish(scene.queue);
  for (const Heard& each : heard) {
    EXPECT_EQ(each.times, 1);
    EXPECT_EQ(each.event, event);
  }
}

TEST_P(PipelinedEvent, HoldsUpOtherQueuesUntilAllSlicesHaveEnded) {
  for (const bool lazy : {false, true}) {
    const sim::Options options = lazy ? lazy_driver() : wide_driver();
    Scene scene(pipelined_settings(), options, GetParam());
    make_slices_uneven(scene);
    const cl_program program = scene.make_program(kSplittable);
    const cl_kernel first = scene.make_kernel(program, "add");
    const cl_kernel second = scene.make_kernel(program, "sum");
    cl_command_queue other = scene.make_queue();
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(first, &event), CL_SUCCESS);
    ASSERT_EQ(scene.cl.clFlush(scene.queue), CL_SUCCESS);
    ASSERT_EQ(scene.launch_on(other, second, nullptr, {event}), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clFinish(other), CL_SUCCESS);
    base::Nanoseconds end{0};
    for (const auto& slice : scene.driver.executions())
      if (slice.kernel == "add") end = std::max(end, slice.ended);
    for (const auto& slice : scene.driver.executions())
      if (slice.kernel == "sum") {
        EXPECT_GE(slice.started, end);
      }
    scene.cl.clReleaseEvent(event);
    scene.expect_each_item_ran(2);
  }
}

INSTANTIATE_TEST_SUITE_P(Queues, PipelinedEvent,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

}  // namespace
}  // namespace cleave
