// How a split launch reaches the driver.

#include <chrono>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

using SplitLaunch = LaunchTest<>;

TEST_F(SplitLaunch, IsVmsTimesAlphaSlicesCoveringItOnceInOrder) {
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  const auto slices = driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  std::size_t next = 0;
  for (const auto& slice : slices) {
    EXPECT_EQ(slice.offset[0], next);
    EXPECT_EQ(slice.global[0] % 16, 0U);
    EXPECT_EQ(slice.local[0], 16U);
    next += slice.global[0];
  }
  EXPECT_EQ(next, kItems);
  expect_each_item_ran(1);
  EXPECT_EQ(statistics().slices, 20U);
  EXPECT_EQ(statistics().split, 1U);
}

TEST(ConfiguredSplitLaunch, UnsplitLaunchIsForwardedUnchanged) {
  base::Settings alone;
  InterposerFixture fixture(alone);
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, {4096}), CL_SUCCESS);
  ASSERT_EQ(fixture.driver.launches().size(), 1U);
  EXPECT_TRUE(fixture.driver.launches()[0].null_local);
  EXPECT_EQ(InterposerFixture::unsplit(plan::UnsplitReason::alone), 1U);
}

TEST_F(SplitLaunch, KeepsTheCallersOffset) {
  const std::size_t offset = 1024;
  const std::size_t global = 2048;
  const std::size_t local = 16;
  ASSERT_EQ(cl.launch(queue, kernel, {global, local, offset}), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 20U);
  EXPECT_EQ(driver.launches()[0].offset[0], 1024U);
  cl.clFinish(queue);
  const auto content = read();
  for (std::size_t i = 0; i < content.size(); ++i) EXPECT_EQ(content[i], i >= 1024 && i < 3072 ? 1 : 0);
}

TEST_F(SplitLaunch, RequestsNoUnneededEvents) {
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  for (const auto& slice : driver.launches()) EXPECT_FALSE(slice.wants_event());
}

TEST(ConfiguredSplitLaunch, OnAnOutOfOrderQueueIsChained) {
  InterposerFixture fixture(default_settings(), default_driver(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  const auto slices = fixture.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_EQ(slices[i].waits.size(), 1U);
  fixture.expect_each_item_ran(1);
  const auto order = fixture.driver.executions();
  for (std::size_t i = 1; i < order.size(); ++i) EXPECT_GT(order[i].offset[0], order[i - 1].offset[0]);
}

TEST_F(SplitLaunch, OnAQueueSwitchedToOutOfOrderIsChained) {
  if (cl.clSetCommandQueueProperty(queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE, nullptr) !=
      CL_SUCCESS) {
    GTEST_SKIP() << "the simulated driver refuses the deprecated call";
  }
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(driver.launches()[1].waits.size(), 1U);
}

TEST_F(SplitLaunch, CapturesArgumentsAtEnqueue) {
  cl_event gate = user_event();
  ASSERT_EQ(launch(kernel, nullptr, {gate}), CL_SUCCESS);
  const cl_int other = 1000;
  cl.set_argument(kernel, 1, other);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  expect_each_item_ran(1);
}

TEST_F(SplitLaunch, OutlivesItsKernelProgramAndBuffer) {
  kit::Program program = cl.build(context, kSplittable);
  cl_kernel released = with_arguments(cl.clCreateKernel(program, "add", nullptr));
  cl_event gate = user_event();
  ASSERT_EQ(launch(released, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 20U);
  cl.clReleaseKernel(released);
  program.reset();
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  expect_each_item_ran(1);
}

TEST_F(SplitLaunch, KernelRecordEndsWithItsLastReference) {
  cl.clRetainKernel(kernel);
  cl.clReleaseKernel(kernel);
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 20U) << "still known after a retain and a release";
}

TEST(ConfiguredSplitLaunch, BoxesAreEnqueuedInAscendingOrder) {
  InterposerFixture fixture(kit::with(default_settings(), &base::Settings::policy,
                                      {base::SplitPolicy::Kind::fixed, 50}, &base::Settings::min_items, 0));
  const cl_kernel kernel = fixture.make_kernel();
  // 16 by 16 groups, so layers of one group are cut as well
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {{64, 64}, {4, 4}}), CL_SUCCESS);
  const auto slices = fixture.driver.launches();
  ASSERT_EQ(slices.size(), 50U);
  for (std::size_t i = 1; i < slices.size(); ++i) {
    EXPECT_GT(slices[i].offset[1] * 64 + slices[i].offset[0],
              slices[i - 1].offset[1] * 64 + slices[i - 1].offset[0]);
  }
}

TEST_F(SplitLaunch, ConcurrentLaunchesOnOneQueueAreSplitCorrectly) {
  const std::vector<cl_kernel> kernels = make_kernels(4);
  kit::on_threads(4, [&](std::size_t thread) {
    for (int i = 0; i < 10; ++i) {
      const kit::Event event = launch_event(kernels[thread]);
      EXPECT_EQ(cl.wait({event}), CL_SUCCESS);
    }
  });
  expect_each_item_ran(40);
  EXPECT_EQ(statistics().slices, 800U);
}

}  // namespace
}  // namespace cleave
