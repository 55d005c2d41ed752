// Sequential mode: waiting between slices is pacing, and must never become waiting for oneself.

#include <chrono>
#include <string>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings sequential() {
  base::Settings settings = default_settings();
  settings.launch = base::LaunchMode::sequential;
  return settings;
}

class Sequential : public testing::TestWithParam<cl_command_queue_properties> {};

TEST_P(Sequential, SliceIsEnqueuedAfterThePreviousHasEnded) {
  InterposerFixture fixture(sequential(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  const kit::Event event = fixture.launch_event(kernel);
  EXPECT_GE(fixture.status(event), CL_RUNNING) << "the call returns when the last slice is enqueued";
  fixture.cl.clFinish(fixture.queue);
  const auto slices = fixture.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].queued, slices[i - 1].ended);
  fixture.expect_each_item_ran(1);
}

TEST_P(Sequential, LazyDriverCausesNoDeadlock) {
  sim::Options options = default_driver();
  options.lazy_flush = true;
  InterposerFixture fixture(sequential(), options, GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  const auto start = fixture.driver.clock().now();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_LT(fixture.driver.clock().now() - start, 100ms) << "it should not have had to give up";
  fixture.expect_each_item_ran(1);
}

TEST_P(Sequential, UnflushedWaitListQueueCausesNoDeadlock) {
  sim::Options options = default_driver();
  options.lazy_flush = true;
  InterposerFixture fixture(sequential(), options, GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  cl_command_queue other = fixture.make_queue();
  kit::Event upstream = fixture.cl.event();
  const cl_int zero = 0;
  ASSERT_EQ(fixture.cl.fill(other, fixture.buffer, zero, 1024, 0, {}, upstream.out()), CL_SUCCESS);
  const auto start = fixture.driver.clock().now();
  ASSERT_EQ(fixture.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  EXPECT_LT(fixture.driver.clock().now() - start, 100ms);
  fixture.expect_each_item_ran(1);
}

TEST_P(Sequential, ReleasedQueueIsNotFlushed) {
  InterposerFixture fixture(sequential(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  cl_command_queue other = fixture.make_queue();
  const kit::Event upstream = fixture.cl.marker_event(other);
  ASSERT_EQ(fixture.cl.wait({upstream}), CL_SUCCESS);
  const std::string gone = "queue#" + std::to_string(fixture.driver.id(other));
  ASSERT_EQ(fixture.cl.clReleaseCommandQueue(other), CL_SUCCESS);
  fixture.driver.forget();
  ASSERT_EQ(fixture.launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  for (const sim::Call& call : fixture.driver.log()) {
    if (call.function == "clFlush") {
      EXPECT_EQ(call.arguments.find(gone), std::string::npos) << "an event does not keep its queue";
    }
  }
  fixture.expect_each_item_ran(1);
}

TEST_P(Sequential, PendingUserEventCausesNoDeadlock) {
  InterposerFixture fixture(sequential(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  cl_event gate = fixture.user_event();
  const auto start = fixture.driver.clock().now();
  ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_LT(fixture.driver.clock().now() - start, 100ms) << "known to be in the way, so not waited for";
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.expect_each_item_ran(1);
  fixture.driver.forget();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  const auto slices = fixture.driver.launches();
  EXPECT_GE(slices[1].queued, slices[0].ended) << "paced again once no user event is pending";
}

TEST_P(Sequential, UnknownBlockerTimesOut) {
  InterposerFixture fixture(sequential(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  // Made behind Cleave's back, as an event from another API would be.
  cl_event gate = sim::Driver::table().clCreateUserEvent(fixture.context, nullptr);
  ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
  sim::Driver::table().clSetUserEventStatus(gate, CL_COMPLETE);
  sim::Driver::table().clReleaseEvent(gate);
  fixture.expect_each_item_ran(1);
}

TEST_P(Sequential, LongSlicesAreAwaited) {
  InterposerFixture fixture(sequential(), default_driver(), GetParam());
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.cost("add", [](const sim::Launch&) { return base::Nanoseconds(60s); });
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  fixture.cl.clFinish(fixture.queue);
  const auto slices = fixture.driver.launches();
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].queued, slices[i - 1].ended);
  fixture.expect_each_item_ran(1);
}

INSTANTIATE_TEST_SUITE_P(Queues, Sequential,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

TEST(Sequential, KernelThatMayWaitForTheHostIsNotAwaited) {
  InterposerFixture fixture(sequential());
  const cl_kernel kernel = fixture.make_kernel(kUsesAtomics, "talker");
  const std::size_t local = 8;  // 512 groups, more than the device can hold
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {InterposerFixture::kItems, local}), CL_SUCCESS);
  ASSERT_EQ(fixture.driver.launches().size(), 20U);
  EXPECT_EQ(fixture.driver.count("clGetEventInfo"), 0U);
  fixture.expect_each_item_ran(1);
}

struct SequentialRelaunch {
  InterposerFixture& fixture;
  cl_kernel kernel;
  base::Nanoseconds took{-1};
};

void CL_CALLBACK launch_sequentially(cl_event, cl_int, void* data) {
  auto* const relaunch = static_cast<SequentialRelaunch*>(data);
  const auto start = relaunch->fixture.driver.clock().now();
  EXPECT_EQ(relaunch->fixture.launch(relaunch->kernel), CL_SUCCESS);
  relaunch->took = relaunch->fixture.driver.clock().now() - start;
}

// The slices may need the thread that the callback is on.
TEST(Sequential, LaunchInACallbackIsNotAwaited) {
  for (const auto wait : {base::WaitMode::native, base::WaitMode::sleeping}) {
    base::Settings settings = sequential();
    settings.wait = wait;
    InterposerFixture fixture(settings);
    SequentialRelaunch relaunch{fixture, fixture.make_kernel()};
    const kit::Event before = fixture.cl.marker_event(fixture.queue);
    ASSERT_EQ(fixture.cl.clSetEventCallback(before, CL_COMPLETE, launch_sequentially, &relaunch), CL_SUCCESS);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    fixture.driver.run_until_idle();
    EXPECT_EQ(InterposerFixture::statistics().split, 1U);
    EXPECT_GE(relaunch.took, 0s);
    EXPECT_LT(relaunch.took, 1s);
    fixture.expect_each_item_ran(1);
  }
}

}  // namespace
}  // namespace cleave
