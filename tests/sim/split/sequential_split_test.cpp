// Sequential mode: waiting between slices is pacing, and must never become waiting for oneself.

#include <chrono>
#include <string>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings sequential() {
  base::Settings settings = usual_settings();
  settings.launch = base::LaunchMode::sequential;
  return settings;
}

class Sequential : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(Sequential, SliceIsEnqueuedOnlyAfterTheOneBeforeHasEnded) {
  Scene scene(sequential(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  EXPECT_GE(scene.status(event), CL_RUNNING) << "the call returns when the last slice is enqueued";
  scene.cl.clFinish(scene.queue);
  const auto slices = scene.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].queued, slices[i - 1].ended);
  scene.cl.clReleaseEvent(event);
  scene.expect_each_item_ran(1);
}

TEST_P(Sequential, DriverThatStartsNothingBeforeAFlushIsNoTrap) {
  sim::Options options = usual_driver();
  options.lazy_flush = true;
  Scene scene(sequential(), options, GetParam());
  const cl_kernel kernel = scene.make_kernel();
  const auto start = scene.driver.clock().now();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_LT(scene.driver.clock().now() - start, 100ms) << "it should not have had to give up";
  scene.expect_each_item_ran(1);
}

TEST_P(Sequential, EventOfAQueueThatIsNotFlushedIsNoTrap) {
  sim::Options options = usual_driver();
  options.lazy_flush = true;
  Scene scene(sequential(), options, GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_command_queue other = scene.make_queue();
  cl_event upstream = nullptr;
  const cl_int zero = 0;
  ASSERT_EQ(
      scene.cl.clEnqueueFillBuffer(other, scene.buffer, &zero, sizeof zero, 0, 4096, 0, nullptr, &upstream),
      CL_SUCCESS);
  const auto start = scene.driver.clock().now();
  ASSERT_EQ(scene.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  EXPECT_LT(scene.driver.clock().now() - start, 100ms);
  scene.cl.clReleaseEvent(upstream);
  scene.expect_each_item_ran(1);
}

TEST_P(Sequential, QueueThatIsGoneIsNotFlushed) {
  Scene scene(sequential(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_command_queue other = scene.make_queue();
  cl_event upstream = nullptr;
  ASSERT_EQ(scene.cl.clEnqueueMarkerWithWaitList(other, 0, nullptr, &upstream), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clWaitForEvents(1, &upstream), CL_SUCCESS);
  const std::string gone = "queue#" + std::to_string(scene.driver.id(other));
  ASSERT_EQ(scene.cl.clReleaseCommandQueue(other), CL_SUCCESS);
  scene.driver.forget();
  ASSERT_EQ(scene.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  for (const sim::Call& call : scene.driver.log()) {
    if (call.function == "clFlush") {
      EXPECT_EQ(call.arguments.find(gone), std::string::npos) << "an event does not keep its queue";
    }
  }
  scene.cl.clReleaseEvent(upstream);
  scene.expect_each_item_ran(1);
}

TEST_P(Sequential, UserEventThatTheProgramSetsLaterIsNoTrap) {
  Scene scene(sequential(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  const auto start = scene.driver.clock().now();
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_LT(scene.driver.clock().now() - start, 100ms) << "known to be in the way, so not waited for";
  EXPECT_EQ(scene.driver.launches().size(), 20U);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.expect_each_item_ran(1);
  scene.driver.forget();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  const auto slices = scene.driver.launches();
  EXPECT_GE(slices[1].queued, slices[0].ended) << "paced again once no user event is pending";
}

TEST_P(Sequential, UnknownThingInTheWayIsGivenUpOn) {
  Scene scene(sequential(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  // Made behind Cleave's back, as an event from another API would be.
  cl_event gate = sim::Driver::table().clCreateUserEvent(scene.context, nullptr);
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches().size(), 20U);
  sim::Driver::table().clSetUserEventStatus(gate, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(gate);
  scene.expect_each_item_ran(1);
}

TEST_P(Sequential, LongSlicesAreWaitedForAllTheSame) {
  Scene scene(sequential(), usual_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(60s); });
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  scene.cl.clFinish(scene.queue);
  const auto slices = scene.driver.launches();
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].queued, slices[i - 1].ended);
  scene.expect_each_item_ran(1);
}

INSTANTIATE_TEST_SUITE_P(Queues, Sequential,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

TEST(Sequential, KernelThatMayWaitForTheHostIsNotWaitedFor) {
  Scene scene(sequential());
  const cl_kernel kernel = scene.make_kernel(kTalks, "talker");
  const std::size_t global = Scene::kItems;
  const std::size_t local = 8;  // 512 groups, more than the device can hold
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
      CL_SUCCESS);
  ASSERT_EQ(scene.driver.launches().size(), 20U);
  EXPECT_EQ(scene.driver.count("clGetEventInfo"), 0U);
  scene.expect_each_item_ran(1);
}

struct SequentialRelaunch {
  Scene& scene;
  cl_kernel kernel;
  base::Nanoseconds took{-1};
};

void CL_CALLBACK launch_sequentially(cl_event, cl_int, void* data) {
  auto* const relaunch = static_cast<SequentialRelaunch*>(data);
  const auto start = relaunch->scene.driver.clock().now();
  EXPECT_EQ(relaunch->scene.launch(relaunch->kernel), CL_SUCCESS);
  relaunch->took = relaunch->scene.driver.clock().now() - start;
}

// The slices may need the thread that the callback is on.
TEST(Sequential, LaunchWithinACallbackIsNotWaitedFor) {
  for (const auto wait : {base::WaitMode::native, base::WaitMode::polite}) {
    base::Settings settings = sequential();
    settings.wait = wait;
    Scene scene(settings);
    SequentialRelaunch relaunch{scene, scene.make_kernel()};
    cl_event before = nullptr;
    ASSERT_EQ(scene.cl.clEnqueueMarkerWithWaitList(scene.queue, 0, nullptr, &before), CL_SUCCESS);
    ASSERT_EQ(scene.cl.clSetEventCallback(before, CL_COMPLETE, launch_sequentially, &relaunch), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
    scene.driver.run_until_idle();
    scene.cl.clReleaseEvent(before);
    EXPECT_EQ(Scene::tally().split, 1U);
    EXPECT_GE(relaunch.took, 0s);
    EXPECT_LT(relaunch.took, 1s);
    scene.expect_each_item_ran(1);
  }
}

}  // namespace
}  // namespace cleave
