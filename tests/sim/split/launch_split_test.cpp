// How a split launch reaches the driver.

#include <chrono>

#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(Launch, IsVmsTimesAlphaSlicesThatCoverItOnceInOrder) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  const auto slices = scene.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  std::size_t next = 0;
  for (const auto& slice : slices) {
    EXPECT_EQ(slice.offset[0], next);
    EXPECT_EQ(slice.global[0] % 16, 0U);
    EXPECT_EQ(slice.local[0], 16U);
    next += slice.global[0];
  }
  EXPECT_EQ(next, Scene::kItems);
  scene.expect_each_item_ran(1);
  EXPECT_EQ(Scene::tally().slices, 20U);
  EXPECT_EQ(Scene::tally().split, 1U);
}

TEST(Launch, ThatStaysWholeIsHandedOnAsItCame) {
  base::Settings alone;
  Scene scene(alone);
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t global = 4096;
  EXPECT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
      CL_SUCCESS);
  ASSERT_EQ(scene.driver.launches().size(), 1U);
  EXPECT_TRUE(scene.driver.launches()[0].null_local);
  EXPECT_EQ(Scene::whole(plan::Whole::alone), 1U);
}

TEST(Launch, KeepsTheProgramsOwnOffset) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t offset = 1024;
  const std::size_t global = 2048;
  const std::size_t local = 16;
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, &offset, &global, &local, 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches().size(), 20U);
  EXPECT_EQ(scene.driver.launches()[0].offset[0], 1024U);
  scene.cl.clFinish(scene.queue);
  const auto content = scene.read();
  for (std::size_t i = 0; i < content.size(); ++i) EXPECT_EQ(content[i], i >= 1024 && i < 3072 ? 1 : 0);
}

TEST(Launch, AsksForNoEventThatNobodyNeeds) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  for (const auto& slice : scene.driver.launches()) EXPECT_FALSE(slice.wants_event());
}

TEST(Launch, OnAnOutOfOrderQueueIsChained) {
  Scene scene(usual_settings(), usual_driver(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  const auto slices = scene.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_EQ(slices[i].waits.size(), 1U);
  scene.expect_each_item_ran(1);
  const auto order = scene.driver.executions();
  for (std::size_t i = 1; i < order.size(); ++i) EXPECT_GT(order[i].offset[0], order[i - 1].offset[0]);
}

TEST(Launch, OnAQueueMadeOutOfOrderLaterIsChained) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  if (scene.cl.clSetCommandQueueProperty(scene.queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE,
                                         nullptr) != CL_SUCCESS) {
    GTEST_SKIP() << "the simulated driver refuses the deprecated call";
  }
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches()[1].waits.size(), 1U);
}

TEST(Launch, TakesTheArgumentsAsTheyWereSet) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  const cl_int other = 1000;
  scene.cl.clSetKernelArg(kernel, 1, sizeof other, &other);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.expect_each_item_ran(1);
}

TEST(Launch, OutlivesItsKernelProgramAndBuffer) {
  Scene scene;
  const char* source = kSplittable;
  cl_program program = scene.cl.clCreateProgramWithSource(scene.context, 1, &source, nullptr, nullptr);
  ASSERT_EQ(scene.cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel kernel = scene.with_arguments(scene.cl.clCreateKernel(program, "add", nullptr));
  cl_event gate = scene.user_event();
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches().size(), 20U);
  scene.cl.clReleaseKernel(kernel);
  scene.cl.clReleaseProgram(program);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.expect_each_item_ran(1);
}

TEST(Launch, RecordOfAKernelEndsWithItsLastReference) {
  Scene scene;
  const cl_kernel kernel = scene.make_kernel();
  scene.cl.clRetainKernel(kernel);
  scene.cl.clReleaseKernel(kernel);
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(scene.driver.launches().size(), 20U) << "still known after a retain and a release";
}

TEST(Launch, BoxesGoInAscendingOrder) {
  base::Settings settings = usual_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 50};
  settings.min_items = 0;
  Scene scene(settings);
  const cl_kernel kernel = scene.make_kernel();
  const std::size_t global[] = {64, 64};
  const std::size_t local[] = {4, 4};  // 16 by 16 groups, so layers of one group are cut as well
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
      CL_SUCCESS);
  const auto slices = scene.driver.launches();
  ASSERT_EQ(slices.size(), 50U);
  for (std::size_t i = 1; i < slices.size(); ++i) {
    EXPECT_GT(slices[i].offset[1] * 64 + slices[i].offset[0],
              slices[i - 1].offset[1] * 64 + slices[i - 1].offset[0]);
  }
}

TEST(Launch, ThreadsOnOneQueueAreAllSplitAndRight) {
  Scene scene;
  const cl_program program = scene.make_program(kSplittable);
  std::vector<cl_kernel> kernels(4);
  for (cl_kernel& kernel : kernels) kernel = scene.make_kernel(program, "add");
  {
    std::vector<std::jthread> threads;
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&scene, kernel] {
        for (int i = 0; i < 10; ++i) {
          cl_event event = nullptr;
          EXPECT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
          EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
          EXPECT_EQ(scene.cl.clReleaseEvent(event), CL_SUCCESS);
        }
      });
    }
  }
  scene.expect_each_item_ran(40);
  EXPECT_EQ(Scene::tally().slices, 800U);
}

}  // namespace
}  // namespace cleave
