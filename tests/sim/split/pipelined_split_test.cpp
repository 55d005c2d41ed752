// Pipelined launches: how their slices reach the driver, and that other commands come before or after all of
// them as they would natively.

#include <chrono>
#include <thread>

#include "tests/sim/split/pipelined.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class Pipelined : public testing::TestWithParam<cl_command_queue_properties> {
 protected:
  bool in_order() const { return GetParam() == 0; }
};

TEST_P(Pipelined, SlicesGoInTurnOverTheProgramsQueueAndItsHelpers) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  const auto slices = scene.driver.launches();
  ASSERT_EQ(slices.size(), 20U);
  const std::uint64_t own = scene.driver.id(scene.queue);
  EXPECT_EQ(queues_of(slices).size(), 4U);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(slices[i].queue == own, i % 4 == 0);
    if (i >= 4) {
      EXPECT_EQ(slices[i].queue, slices[i - 4].queue);
    }
  }
  scene.expect_each_item_ran(1);
  EXPECT_EQ(Scene::tally().pipelined, 1U);
  EXPECT_EQ(Scene::tally().slices, 20U);
  const auto ran = scene.driver.executions();
  std::size_t together = 0;
  for (std::size_t i = 1; i < ran.size(); ++i) together += ran[i].started < ran[i - 1].ended ? 1 : 0;
  EXPECT_GT(together, 10U) << "slices overlap";
}

// Others get to the driver while a long launch is enqueued, but the device never runs dry for it.
TEST_P(Pipelined, LongLaunchPausesWhereTheDeviceHasEnoughToDo) {
  base::Settings settings = pipelined_settings();
  settings.policy = {base::SplitPolicy::Kind::fixed, 200};
  for (const bool wants_event : {false, true}) {
    const auto time_in_the_call = [&](base::Nanoseconds slice) {
      Scene scene(settings, wide_driver(), GetParam());
      scene.driver.cost("add", [slice](const sim::Launch&) { return slice; });
      const cl_kernel kernel = scene.make_kernel();
      cl_event event = nullptr;
      const base::Nanoseconds before = scene.driver.clock().now();
      EXPECT_EQ(scene.launch(kernel, wants_event ? &event : nullptr), CL_SUCCESS);
      const base::Nanoseconds taken = scene.driver.clock().now() - before;
      EXPECT_EQ(Scene::tally().slices, 200U);
      scene.expect_each_item_ran(1);
      if (event != nullptr) scene.cl.clReleaseEvent(event);
      return taken;
    };
    EXPECT_EQ(time_in_the_call(100us) - time_in_the_call(0us), 4 * 60us)
        << "after slices 64, 96, 128 and 160";
  }
}

TEST_P(Pipelined, SliceWhoseEventTheProgramGetsIsOnItsQueueAndEndsLast) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  for (int i = 0; i < 3; ++i) {
    scene.driver.forget();
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
    scene.cl.clWaitForEvents(1, &event);
    scene.cl.clReleaseEvent(event);
    auto slices = scene.driver.launches();
    ASSERT_EQ(slices.size(), 20U);
    const sim::Launch last = slices.back();
    EXPECT_EQ(last.queue, scene.driver.id(scene.queue));
    slices.pop_back();
    for (const auto& slice : slices) EXPECT_LE(slice.ended, last.started);
  }
  scene.expect_each_item_ran(3);
}

TEST_P(Pipelined, FinishWaitsForAllSlicesOfALaunchWithoutAnEvent) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  for (int i = 0; i < 3; ++i) {
    scene.driver.forget();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    scene.cl.clFinish(scene.queue);
    const auto slices = scene.driver.launches();
    ASSERT_EQ(slices.size(), 20U);
    for (const auto& slice : slices) EXPECT_EQ(slice.status, CL_COMPLETE);
  }
}

// A command before and one after, each of which would show at once if it overlapped a slice.
TEST(Pipelined, OnAnInOrderQueueCommandsComeBeforeOrAfterAllSlices) {
  Scene scene(pipelined_settings(), wide_driver());
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  const cl_int ten = 10;
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(scene.cl.clEnqueueFillBuffer(scene.queue, scene.buffer, &ten, sizeof ten, 0,
                                           Scene::kItems * sizeof(cl_int), 0, nullptr, nullptr),
              CL_SUCCESS);
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    ASSERT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 12)) << "read with nothing else to wait for";
  }
  EXPECT_EQ(Scene::tally().pipelined, 10U);
}

TEST(Pipelined, LaunchesOnAnInOrderQueueDoNotOverlap) {
  Scene scene(pipelined_settings(), wide_driver());
  make_slices_uneven(scene);
  const cl_program program = scene.make_program(kSplittable);
  const cl_kernel first = scene.make_kernel(program, "add");
  const cl_kernel second = scene.make_kernel(program, "sum");
  ASSERT_EQ(scene.launch(first), CL_SUCCESS);
  ASSERT_EQ(scene.launch(second), CL_SUCCESS);
  scene.expect_each_item_ran(2);
  base::Nanoseconds end{0};
  base::Nanoseconds begin = 1h;
  for (const auto& slice : scene.driver.executions()) {
    if (slice.kernel == "add") end = std::max(end, slice.ended);
    if (slice.kernel == "sum") begin = std::min(begin, slice.started);
  }
  EXPECT_LE(end, begin);
}

TEST_P(Pipelined, EverySliceWaitsForTheProgramsWaitList) {
  for (const bool wants_event : {false, true}) {
    Scene scene(pipelined_settings(), wide_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    HiddenGate gate(scene);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, wants_event ? &event : nullptr, {gate.get()}), CL_SUCCESS);
    EXPECT_EQ(Scene::tally().pipelined, 1U);
    scene.cl.clFlush(scene.queue);
    scene.driver.run_until_idle();
    EXPECT_TRUE(scene.driver.executions().empty());
    gate.open();
    scene.expect_each_item_ran(1);
    if (wants_event) scene.cl.clReleaseEvent(event);
  }
}

TEST_P(Pipelined, FailedWaitListStopsEverySlice) {
  for (const bool wants_event : {false, true}) {
    Scene scene(pipelined_settings(), wide_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    HiddenGate gate(scene);
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(kernel, wants_event ? &event : nullptr, {gate.get()}), CL_SUCCESS);
    gate.open(-5);
    scene.driver.run_until_idle();
    if (wants_event) {
      EXPECT_EQ(scene.status(event), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
      scene.cl.clReleaseEvent(event);
    }
    EXPECT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 0)) << "no slice may run";
    EXPECT_TRUE(scene.driver.executions().empty());
  }
}

TEST_P(Pipelined, UserEventThatIsKnownToBePendingIsWaitedForInOneQueue) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  EXPECT_EQ(queues_of(scene.driver.launches()).size(), 1U);
  EXPECT_EQ(queued_for(plan::Queued::pending), 1U);
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().pipelined, 1U);
  scene.expect_each_item_ran(2);
}

TEST_P(Pipelined, KernelsThatTalkStayInOrder) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  const cl_kernel kernel = scene.make_kernel(kTalks, "talker");
  const std::size_t global = Scene::kItems;
  const std::size_t local = 8;  // 512 groups, more than the device can hold
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
      CL_SUCCESS);
  scene.expect_each_item_ran(1);
  const auto slices = scene.driver.executions();
  ASSERT_EQ(slices.size(), 20U);
  EXPECT_EQ(queues_of(slices).size(), 1U);
  for (std::size_t i = 1; i < slices.size(); ++i) {
    EXPECT_GT(slices[i].offset[0], slices[i - 1].offset[0]);
    EXPECT_GE(slices[i].started, slices[i - 1].ended);
  }
  EXPECT_EQ(queued_for(plan::Queued::talks), 1U);
}

TEST_P(Pipelined, ArgumentsKernelAndBufferAreThoseOfTheCall) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  const char* source = kSplittable;
  cl_program program = scene.cl.clCreateProgramWithSource(scene.context, 1, &source, nullptr, nullptr);
  ASSERT_EQ(scene.cl.clBuildProgram(program, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
  cl_kernel kernel = scene.with_arguments(scene.cl.clCreateKernel(program, "add", nullptr));
  HiddenGate gate(scene);
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate.get()}), CL_SUCCESS);
  const cl_int other = 1000;
  scene.cl.clSetKernelArg(kernel, 1, sizeof other, &other);
  scene.cl.clReleaseKernel(kernel);
  scene.cl.clReleaseProgram(program);
  gate.open();
  scene.expect_each_item_ran(1);
}

TEST_P(Pipelined, BoxesOfTwoDimensionsCoverAllOnce) {
  for (const std::size_t slices : {17U, 50U, 200U}) {
    base::Settings settings = pipelined_settings();
    settings.policy = {base::SplitPolicy::Kind::fixed, slices};
    settings.min_items = 0;
    Scene scene(settings, wide_driver(), GetParam());
    const cl_kernel kernel = scene.make_kernel();
    scene.driver.kernel("add", [](sim::Execution& e) {
      const auto data = e.buffer<cl_int>(0);
      e.for_each_item([&](const sim::Item& item) { ++data[item.global_id[1] * 64 + item.global_id[0]]; });
    });
    const std::size_t global[] = {64, 64};
    const std::size_t local[] = {4, 4};
    ASSERT_EQ(
        scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
        CL_SUCCESS);
    EXPECT_EQ(scene.driver.launches().size(), slices);
    scene.expect_each_item_ran(1);
  }
}

TEST_P(Pipelined, KernelsThatSeeTheCutSeeTheWholeLaunch) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  scene.driver.kernel("seer", [](sim::Execution& e) {
    const auto data = e.buffer<cl_int>(0);
    e.for_each_item([&](const sim::Item& item) {
      const Seen seen(e, item);
      data[item.global_id[0]] += static_cast<cl_int>(seen.group_id(0) + 1000 * seen.num_groups(0));
    });
  });
  const cl_kernel kernel = scene.make_kernel(kSeesTheCut, "seer");
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  EXPECT_EQ(Scene::tally().pipelined, 1U);
  scene.cl.clFinish(scene.queue);
  const auto content = scene.read();
  for (std::size_t i = 0; i < content.size(); ++i)
    ASSERT_EQ(content[i], static_cast<cl_int>(i / 16 + 1000 * (Scene::kItems / 16)));
}

TEST_P(Pipelined, ThreadsOnOneQueue) {
  Scene scene(pipelined_settings(), wide_driver(), GetParam());
  make_slices_uneven(scene);
  const cl_program program = scene.make_program(kSplittable);
  std::vector<cl_kernel> kernels(4);
  for (cl_kernel& kernel : kernels) kernel = scene.make_kernel(program, "add");
  {
    std::vector<std::jthread> threads;
    threads.reserve(kernels.size());
    for (const cl_kernel kernel : kernels) {
      threads.emplace_back([&scene, kernel] {
        for (int i = 0; i < 10; ++i) {
          cl_event event = nullptr;
          EXPECT_EQ(scene.launch(kernel, i % 2 == 0 ? &event : nullptr), CL_SUCCESS);
          if (event != nullptr) {
            EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
            EXPECT_EQ(scene.cl.clReleaseEvent(event), CL_SUCCESS);
          }
        }
      });
    }
  }
  scene.expect_each_item_ran(40);
}

INSTANTIATE_TEST_SUITE_P(Queues, Pipelined,
                         testing::Values(cl_command_queue_properties{0},
                                         cl_command_queue_properties{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE}),
                         [](const auto& info) { return info.param == 0 ? "InOrder" : "OutOfOrder"; });

TEST(PipelinedInOrder, AsksForNoEventThatNobodyNeeds) {
  Scene scene(pipelined_settings(), wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  std::size_t events = 0;
  for (const auto& slice : scene.driver.launches()) events += slice.wants_event() ? 1 : 0;
  EXPECT_EQ(events, 3U) << "the last on each helper";
}

TEST(PipelinedOutOfOrder, DoesNotWaitForWhatItWouldNotWaitForNatively) {
  Scene scene(pipelined_settings(), wide_driver(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const cl_program program = scene.make_program(kSplittable);
  const cl_kernel held = scene.make_kernel(program, "add");
  const cl_kernel free = scene.make_kernel(program, "sum");
  HiddenGate gate(scene);
  ASSERT_EQ(scene.launch(held, nullptr, {gate.get()}), CL_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    cl_event event = nullptr;
    ASSERT_EQ(scene.launch(free, &event), CL_SUCCESS);
    EXPECT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS)
        << "held up by a launch that it has nothing to do with";
    scene.cl.clReleaseEvent(event);
  }
  gate.open();
  scene.expect_each_item_ran(4);
}

TEST(PipelinedOutOfOrder, BarriersBeforeAndAfterHoldForAllSlices) {
  Scene scene(pipelined_settings(), wide_driver(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  make_slices_uneven(scene);
  const cl_kernel kernel = scene.make_kernel();
  const cl_int ten = 10;
  const auto fill = [&] {
    return scene.cl.clEnqueueFillBuffer(scene.queue, scene.buffer, &ten, sizeof ten, 0,
                                        Scene::kItems * sizeof(cl_int), 0, nullptr, nullptr);
  };
  const auto barrier = [&] {
    ASSERT_EQ(scene.cl.clEnqueueBarrierWithWaitList(scene.queue, 0, nullptr, nullptr), CL_SUCCESS);
  };
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(fill(), CL_SUCCESS);
    barrier();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    barrier();
    ASSERT_EQ(scene.read(), std::vector<cl_int>(Scene::kItems, 11));
    barrier();
  }
  EXPECT_EQ(Scene::tally().pipelined, 3U);
}

struct Kind {
  const char* name;
  base::LaunchMode mode;
  cl_device_type type;
  const char* platform;
  bool pipelined;
};

class Automatic : public testing::TestWithParam<Kind> {};

TEST_P(Automatic, IsPipelinedOnGpusOfDriversThatAreUpToIt) {
  base::Settings settings = pipelined_settings();
  settings.launch = GetParam().mode;
  sim::Options options = wide_driver();
  options.device_type = GetParam().type;
  options.platform_name = GetParam().platform;
  Scene scene(settings, options);
  const cl_kernel kernel = scene.make_kernel();
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  scene.expect_each_item_ran(1);
  EXPECT_EQ(Scene::tally().split, 1U);
  EXPECT_EQ(Scene::tally().pipelined, GetParam().pipelined ? 1U : 0U);
  EXPECT_EQ(queued_for(plan::Queued::device), GetParam().pipelined ? 0U : 1U);
}

constexpr const char* kPocl = "Portable Computing Language";
INSTANTIATE_TEST_SUITE_P(
    Devices, Automatic,
    testing::Values(Kind{"Gpu", base::LaunchMode::automatic, CL_DEVICE_TYPE_GPU, "Some platform", true},
                    Kind{"Cpu", base::LaunchMode::automatic, CL_DEVICE_TYPE_CPU, "Some platform", false},
                    Kind{"CpuByName", base::LaunchMode::pipelined, CL_DEVICE_TYPE_CPU, "Some platform", true},
                    Kind{"PoclsGpu", base::LaunchMode::automatic, CL_DEVICE_TYPE_GPU, kPocl, false},
                    Kind{"PoclByName", base::LaunchMode::pipelined, CL_DEVICE_TYPE_CPU, kPocl, true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace cleave
