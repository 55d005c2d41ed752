// How a split launch reaches the driver.

#include <chrono>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(SplitLaunch, IsVmsTimesAlphaSlicesCoveringItOnceInOrder) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  const auto slices = fixture.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  std::size_t next = 0;
  for (const auto& slice : slices) {
    EXPECT_EQ(slice.offset[0], next);
    EXPECT_EQ(slice.global[0] % 16, 0U);
    EXPECT_EQ(slice.local[0], 16U);
    next += slice.global[0];
  }
  EXPECT_EQ(next, InterposerFixture::kItems);
  fixture.expect_each_item_ran(1);
  EXPECT_EQ(InterposerFixture::statistics().slices, 20U);
  EXPECT_EQ(InterposerFixture::statistics().split, 1U);
}

TEST(SplitLaunch, UnsplitLaunchIsForwardedUnchanged) {
  base::Settings alone;
  InterposerFixture fixture(alone);
  const cl_kernel kernel = fixture.make_kernel();
  EXPECT_EQ(fixture.cl.launch(fixture.queue, kernel, {4096}), CL_SUCCESS);
  ASSERT_EQ(fixture.driver.launches().size(), 1U);
  EXPECT_TRUE(fixture.driver.launches()[0].null_local);
  EXPECT_EQ(InterposerFixture::unsplit(plan::UnsplitReason::alone), 1U);
}

TEST(SplitLaunch, KeepsTheCallersOffset) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t offset = 1024;
  const std::size_t global = 2048;
  const std::size_t local = 16;
  ASSERT_EQ(fixture.cl.launch(fixture.queue, kernel, {global, local, offset}), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
  EXPECT_EQ(fixture.driver.launches()[0].offset[0], 1024U);
  fixture.cl.clFinish(fixture.queue);
  const auto content = fixture.read();
  for (std::size_t i = 0; i < content.size(); ++i) EXPECT_EQ(content[i], i >= 1024 && i < 3072 ? 1 : 0);
}

TEST(SplitLaunch, RequestsNoUnneededEvents) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  for (const auto& slice : fixture.driver.launches()) EXPECT_FALSE(slice.wants_event());
}

TEST(SplitLaunch, OnAnOutOfOrderQueueIsChained) {
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

TEST(SplitLaunch, OnAQueueSwitchedToOutOfOrderIsChained) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  if (fixture.cl.clSetCommandQueueProperty(fixture.queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE,
                                           nullptr) != CL_SUCCESS) {
    GTEST_SKIP() << "the simulated driver refuses the deprecated call";
  }
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches()[1].waits.size(), 1U);
}

TEST(SplitLaunch, CapturesArgumentsAtEnqueue) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  cl_event gate = fixture.user_event();
  ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  const cl_int other = 1000;
  fixture.cl.set_argument(kernel, 1, other);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.expect_each_item_ran(1);
}

TEST(SplitLaunch, OutlivesItsKernelProgramAndBuffer) {
  InterposerFixture fixture;
  kit::Program program = fixture.cl.build(fixture.context, kSplittable);
  cl_kernel kernel = fixture.with_arguments(fixture.cl.clCreateKernel(program, "add", nullptr));
  cl_event gate = fixture.user_event();
  ASSERT_EQ(fixture.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 20U);
  fixture.cl.clReleaseKernel(kernel);
  program.reset();
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.expect_each_item_ran(1);
}

TEST(SplitLaunch, KernelRecordEndsWithItsLastReference) {
  InterposerFixture fixture;
  const cl_kernel kernel = fixture.make_kernel();
  fixture.cl.clRetainKernel(kernel);
  fixture.cl.clReleaseKernel(kernel);
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.launches().size(), 20U) << "still known after a retain and a release";
}

TEST(SplitLaunch, BoxesAreEnqueuedInAscendingOrder) {
  base::Settings settings = default_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 50};
  settings.min_items = 0;
  InterposerFixture fixture(settings);
  const cl_kernel kernel = fixture.make_kernel();
  const std::size_t global[] = {64, 64};
  const std::size_t local[] = {4, 4};  // 16 by 16 groups, so layers of one group are cut as well
  ASSERT_EQ(fixture.cl.clEnqueueNDRangeKernel(fixture.queue, kernel, 2, nullptr, global, local, 0, nullptr,
                                              nullptr),
            CL_SUCCESS);
  const auto slices = fixture.driver.launches();
  ASSERT_EQ(slices.size(), 50U);
  for (std::size_t i = 1; i < slices.size(); ++i) {
    EXPECT_GT(slices[i].offset[1] * 64 + slices[i].offset[0],
              slices[i - 1].offset[1] * 64 + slices[i - 1].offset[0]);
  }
}

TEST(SplitLaunch, ConcurrentLaunchesOnOneQueueAreSplitCorrectly) {
  InterposerFixture fixture;
  const cl_program program = fixture.make_program(kSplittable);
  std::vector<cl_kernel> kernels(4);
  for (cl_kernel& kernel : kernels) kernel = fixture.make_kernel(program, "add");
  {
    std::vector<std::jthread> threads;
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&fixture, kernel] {
        for (int i = 0; i < 10; ++i) {
          const kit::Event event = fixture.launch_event(kernel);
          EXPECT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
        }
      });
    }
  }
  fixture.expect_each_item_ran(40);
  EXPECT_EQ(InterposerFixture::statistics().slices, 800U);
}

}  // namespace
}  // namespace cleave
