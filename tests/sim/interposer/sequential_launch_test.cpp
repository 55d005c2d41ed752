// Sequential mode: waiting between slices is pacing, and must never become waiting for oneself.

#include <atomic>
#include <chrono>
#include <string>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

base::Settings sequential() {
  return kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::sequential);
}

using Sequential = QueueOrderTest<sequential>;
using SequentialOnALazyDriver = QueueOrderTest<sequential, lazy_driver>;
using SequentialInOrder = LaunchTest<sequential>;

TEST_P(Sequential, SliceIsEnqueuedAfterThePreviousHasEnded) {
  const kit::Event event = launch_event(kernel);
  EXPECT_GE(status(event), CL_RUNNING) << "the call returns when the last slice is enqueued";
  cl.clFinish(queue);
  const auto slices = driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].queued, slices[i - 1].ended);
  expect_each_item_ran(1);
}

TEST_P(SequentialOnALazyDriver, CausesNoDeadlock) {
  const auto start = driver.clock().now();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_LT(driver.clock().now() - start, 100ms) << "it should not have had to give up";
  expect_each_item_ran(1);
}

TEST_P(SequentialOnALazyDriver, UnflushedWaitListQueueCausesNoDeadlock) {
  cl_command_queue other = make_queue();
  kit::Event upstream = cl.event();
  const cl_int zero = 0;
  ASSERT_EQ(cl.fill(other, buffer, zero, 1024, 0, {}, upstream.out()), CL_SUCCESS);
  const auto start = driver.clock().now();
  ASSERT_EQ(launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  EXPECT_LT(driver.clock().now() - start, 100ms);
  expect_each_item_ran(1);
}

TEST_P(Sequential, ReleasedQueueIsNotFlushed) {
  cl_command_queue other = cl.queue(context, device).detach();
  const kit::Event upstream = cl.marker_event(other);
  ASSERT_EQ(cl.wait({upstream}), CL_SUCCESS);
  const std::string gone = "queue#" + std::to_string(driver.id(other));
  ASSERT_EQ(cl.clReleaseCommandQueue(other), CL_SUCCESS);
  driver.forget();
  ASSERT_EQ(launch(kernel, nullptr, {upstream}), CL_SUCCESS);
  for (const sim::Call& call : driver.log()) {
    if (call.function == "clFlush") {
      EXPECT_EQ(call.arguments.find(gone), std::string::npos) << "an event does not keep its queue";
    }
  }
  expect_each_item_ran(1);
}

TEST_P(Sequential, PendingUserEventCausesNoDeadlock) {
  cl_event gate = user_event();
  const auto start = driver.clock().now();
  ASSERT_EQ(launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_LT(driver.clock().now() - start, 100ms) << "known to be in the way, so not waited for";
  EXPECT_EQ(driver.launches().size(), 20U);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  expect_each_item_ran(1);
  driver.forget();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  const auto slices = driver.launches();
  EXPECT_GE(slices[1].queued, slices[0].ended) << "paced again once no user event is pending";
}

TEST_P(Sequential, UnknownBlockerTimesOut) {
  DriverOnlyEvent gate(*this);
  ASSERT_EQ(launch(kernel, nullptr, {gate.get()}), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 20U);
  gate.open();
  expect_each_item_ran(1);
}

TEST_P(Sequential, LongSlicesAreAwaited) {
  // Longer than the pacing waits for what it does not know; if all were that long, they would take minutes alongside other tests.
  std::atomic<int> made{0};
  driver.cost("add", [&](const sim::Launch&) { return base::Nanoseconds(++made <= 3 ? 6s : 10ms); });
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  cl.clFinish(queue);
  const auto slices = driver.launches();
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].queued, slices[i - 1].ended);
  expect_each_item_ran(1);
}

INSTANTIATE_TEST_SUITE_P(Queues, SequentialOnALazyDriver, testing::ValuesIn(kQueueOrders), queue_order_name);
INSTANTIATE_TEST_SUITE_P(Queues, Sequential, testing::ValuesIn(kQueueOrders), queue_order_name);

TEST_F(SequentialInOrder, KernelThatMayWaitForTheHostIsNotAwaited) {
  const cl_kernel waits = make_kernel(kMayWait, "may_wait");
  const std::size_t local = 8;  // 512 groups, more than the device can hold
  ASSERT_EQ(cl.launch(queue, waits, {kItems, local}), CL_SUCCESS);
  ASSERT_EQ(driver.launches().size(), 20U);
  EXPECT_EQ(driver.count("clGetEventInfo"), 0U);
  expect_each_item_ran(1);
}

TEST_F(SequentialInOrder, CommunicatingKernelThatCannotWaitIsAwaited) {
  ASSERT_EQ(launch(make_kernel(kUsesAtomics, "uses_atomics")), CL_SUCCESS);
  ASSERT_EQ(driver.launches().size(), 20U);
  EXPECT_GT(driver.count("clGetEventInfo"), 0U);
  expect_each_item_ran(1);
}

// The slices may need the thread that the callback is on.
TEST(ConfiguredSequential, LaunchInACallbackIsNotAwaited) {
  for (const auto wait : {base::WaitMode::native, base::WaitMode::sleeping}) {
    InterposerFixture fixture(kit::with(sequential(), &base::Settings::wait, wait));
    const cl_kernel kernel = fixture.make_kernel();
    const kit::Event before = fixture.cl.marker_event(fixture.queue);
    base::Nanoseconds took{-1};
    const kit::Setup::EventAction relaunch = [&](cl_event, cl_int) {
      const auto start = fixture.driver.clock().now();
      EXPECT_EQ(fixture.launch(kernel), CL_SUCCESS);
      took = fixture.driver.clock().now() - start;
    };
    fixture.at_status(before, CL_COMPLETE, relaunch);
    EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
    fixture.driver.run_until_idle();
    EXPECT_EQ(InterposerFixture::statistics().split, 1U);
    EXPECT_GE(took, 0s);
    EXPECT_LT(took, 1s);
    fixture.expect_each_item_ran(1);
  }
}

}  // namespace
}  // namespace cleave
