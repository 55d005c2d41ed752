// The policies that learn what launches cost, as a program and its driver see them.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>

#include "interpose/lessons.h"
#include "tests/sim/split/pipelined.h"
#include "tests/sim/split/scene.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;
using base::SplitPolicy;

base::Settings learning(SplitPolicy policy, unsigned vms = 5) {
  base::Settings settings = usual_settings();
  settings.policy = policy;
  settings.vms = vms;
  settings.wait = base::WaitMode::native;
  return settings;
}
base::Settings budget() { return learning({SplitPolicy::Kind::budget, 0}); }
base::Settings quantum(Nanoseconds length, unsigned vms = 1) {
  return learning({SplitPolicy::Kind::quantum, 0, length}, vms);
}

// A launch takes `whole`, a slice its share of that and `each` on top.
void costs(Scene& scene, Nanoseconds whole, Nanoseconds each) {
  for (const char* name : {"add", "sum"}) {
    scene.driver.cost(name, [=](const sim::Launch& slice) {
      const auto items = static_cast<std::int64_t>(slice.global[0]);
      const bool split = slice.global[0] < Scene::kItems;
      return whole * items / static_cast<std::int64_t>(Scene::kItems) + (split ? each : 0ns);
    });
  }
}

// One launch and what comes behind it; returns the number of driver launches it became.
using Way = void (*)(Scene&, cl_kernel);
std::size_t slices_of(Scene& scene, cl_kernel kernel, Way way) {
  scene.driver.forget();
  way(scene, kernel);
  return scene.driver.launches().size();
}

void by_finish(Scene& scene, cl_kernel kernel) {
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
}
void by_event(Scene& scene, cl_kernel kernel) {
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  ASSERT_EQ(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
}
void by_reading(Scene& scene, cl_kernel kernel) {
  ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
  scene.read();
}

struct Case {
  const char* name;
  Way way;
  base::WaitMode wait;
  cl_command_queue_properties properties;
};

class Learning : public testing::TestWithParam<Case> {};

TEST_P(Learning, BudgetConvergesInTenLaunches) {
  base::Settings settings = budget();
  settings.wait = GetParam().wait;
  Scene scene(settings, usual_driver(), GetParam().properties);
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 100ms, 100us);
  for (int i = 0; i < 10; ++i) slices_of(scene, kernel, GetParam().way);
  const std::size_t slices = slices_of(scene, kernel, GetParam().way);
  EXPECT_GE(slices, 25U) << "half of what is possible";
  EXPECT_LE(slices, 51U);
  scene.expect_each_item_ran(11);
}

INSTANTIATE_TEST_SUITE_P(Ways, Learning,
                         testing::Values(Case{"Finish", by_finish, base::WaitMode::native, 0},
                                         Case{"FinishPolitely", by_finish, base::WaitMode::polite, 0},
                                         Case{"Event", by_event, base::WaitMode::native, 0},
                                         Case{"EventPolitely", by_event, base::WaitMode::polite, 0},
                                         Case{"Reading", by_reading, base::WaitMode::native, 0},
                                         Case{"ReadingPolitely", by_reading, base::WaitMode::polite, 0},
                                         Case{"OutOfOrder", by_event, base::WaitMode::native,
                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE},
                                         Case{"Profiling", by_event, base::WaitMode::native,
                                              CL_QUEUE_PROFILING_ENABLE}),
                         [](const auto& info) { return info.param.name; });

// What it waits for would be counted, and a wait for it may need what the program does next.
TEST(Learning, NothingIsTimedByTheHostThatWaitsForOthers) {
  Scene scene(budget());
  const cl_kernel kernel = scene.make_kernel();
  const cl_kernel other = scene.make_kernel(kSplittable, "sum");
  const cl_command_queue elsewhere = scene.make_queue();
  scene.driver.cost("add", [](const sim::Launch&) { return 100us; });
  scene.driver.cost("sum", [](const sim::Launch&) { return 10ms; });
  slices_of(scene, kernel, by_finish);
  scene.driver.forget();
  for (int i = 0; i < 10; ++i) {
    cl_event first = nullptr;
    ASSERT_EQ(scene.launch_on(elsewhere, other, &first), CL_SUCCESS);
    ASSERT_EQ(scene.launch(kernel, nullptr, {first}), CL_SUCCESS);
    ASSERT_EQ(scene.cl.clFinish(scene.queue), CL_SUCCESS);
    scene.cl.clReleaseEvent(first);
  }
  for (const learn::Lesson& lesson : interpose::process().lessons.lessons(10)) {
    EXPECT_EQ(lesson.advice.measured, lesson.name.starts_with("add") ? 1U : 0U) << lesson.name;
  }
  scene.expect_each_item_ran(21);
}

TEST(Learning, BudgetOfPipelinedLaunches) {
  base::Settings settings = budget();
  settings.launch = base::LaunchMode::pipelined;
  Scene scene(settings, wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 100ms, 400us);
  for (int i = 0; i < 10; ++i) slices_of(scene, kernel, by_finish);
  const auto start = scene.driver.clock().now();
  EXPECT_GE(slices_of(scene, kernel, by_finish), 12U);
  EXPECT_LE(scene.driver.clock().now() - start, 106ms);
  scene.expect_each_item_ran(11);
}

// A driver in which each slice costs the host more than the device.
cl_int CL_API_CALL enqueue_slowly(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                  const size_t* offset, const size_t* global, const size_t* local,
                                  cl_uint waits, const cl_event* list, cl_event* event) {
  interpose::process().clock.sleep_for(100us);
  return sim::Driver::table().clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, list,
                                                     event);
}

TEST(Learning, BudgetCountsWhatEnqueueingTakes) {
  Table below = sim::Driver::table();
  below.clEnqueueNDRangeKernel = enqueue_slowly;
  Scene scene(budget(), usual_driver(), 0, below);
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 10ms, 0us);
  for (int i = 0; i < 10; ++i) slices_of(scene, kernel, by_finish);
  const auto start = scene.driver.clock().now();
  EXPECT_GE(slices_of(scene, kernel, by_finish), 40U);
  EXPECT_LE(scene.driver.clock().now() - start, 10700us);
}

TEST(Learning, BudgetFollowsAChange) {
  Scene scene(budget());
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 100ms, 100us);
  for (int i = 0; i < 15; ++i) slices_of(scene, kernel, by_finish);
  costs(scene, 10ms, 100us);
  for (int i = 0; i < 20; ++i) slices_of(scene, kernel, by_finish);
  const std::size_t slices = slices_of(scene, kernel, by_finish);
  EXPECT_GE(slices, 3U);
  EXPECT_LE(slices, 6U);
}

TEST(Learning, BudgetIsBoundedByTheNumberOfVms) {
  base::Settings settings = budget();
  settings.alpha_max = 3;
  Scene scene(settings);
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 100ms, 0us);
  for (int i = 0; i < 12; ++i) EXPECT_LE(slices_of(scene, kernel, by_finish), 15U);
  EXPECT_EQ(slices_of(scene, kernel, by_finish), 15U);
}

TEST(Learning, BudgetLeavesLaunchesWholeThatAreTooShort) {
  Scene scene(budget());
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 100us, 20us);
  for (int i = 0; i < 12; ++i) slices_of(scene, kernel, by_finish);
  EXPECT_EQ(slices_of(scene, kernel, by_finish), 1U);
  EXPECT_GT(Scene::whole(plan::Whole::measuring), 0U);
  EXPECT_GT(Scene::whole(plan::Whole::costly), 0U);
}

TEST(Learning, BudgetDoesNotSplitAlone) {
  Scene scene(learning({SplitPolicy::Kind::budget, 0}, 1));
  const cl_kernel kernel = scene.make_kernel();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(slices_of(scene, kernel, by_finish), 1U);
  EXPECT_EQ(Scene::whole(plan::Whole::alone), 12U);
}

TEST(Learning, NoSliceIsLongerThanTheQuantum) {
  Scene scene(quantum(5ms));
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 1000ms, 10us);
  EXPECT_EQ(slices_of(scene, kernel, by_finish), 16U) << "a guess";
  for (int i = 0; i < 5; ++i) {
    const std::size_t slices = slices_of(scene, kernel, by_finish);
    EXPECT_EQ(slices, 256U) << "200 would be some of one work-group and some of two";
    for (const sim::Launch& slice : scene.driver.executions()) EXPECT_LE(slice.ended - slice.started, 5ms);
  }
  costs(scene, 1ms, 10us);
  for (int i = 0; i < 6; ++i) slices_of(scene, kernel, by_finish);
  EXPECT_EQ(slices_of(scene, kernel, by_finish), 1U) << "short enough by now";
  EXPECT_GT(Scene::whole(plan::Whole::brief), 0U);
}

TEST(Learning, QuantumHoldsForAllThatRunsSideBySide) {
  base::Settings settings = quantum(10ms);
  settings.launch = base::LaunchMode::pipelined;
  Scene scene(settings, wide_driver());
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 1000ms, 10us);
  for (int i = 0; i < 4; ++i) slices_of(scene, kernel, by_finish);
  const std::size_t slices = slices_of(scene, kernel, by_finish);
  // This device runs slices side by side as if each had it for itself, so the launch takes half as long.
  EXPECT_GE(slices, 100U) << "50 quanta on two queues at least";
  EXPECT_LE(slices, 200U) << "and on four at most";
}

TEST(Learning, ANewSizeBeginsWithWhatAnotherHasTaught) {
  Scene scene(quantum(5ms));
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 400ms, 0us);
  for (int i = 0; i < 3; ++i) slices_of(scene, kernel, by_finish);
  scene.driver.forget();
  const std::size_t global = Scene::kItems / 2;
  const std::size_t local = 16;
  ASSERT_EQ(
      scene.cl.clEnqueueNDRangeKernel(scene.queue, kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr),
      CL_SUCCESS);
  scene.cl.clFinish(scene.queue);
  EXPECT_GE(scene.driver.launches().size(), 40U);
  EXPECT_LE(scene.driver.launches().size(), 56U);
}

TEST(Learning, WhatCannotBeMeasuredIsLeftToAlpha) {
  for (const base::Settings& settings : {budget(), quantum(5ms, 5)}) {
    Scene scene(settings);
    const cl_kernel kernel = scene.make_kernel();
    costs(scene, 10ms, 100us);
    for (int i = 0; i < 4; ++i) scene.launch(kernel);
    scene.driver.forget();
    for (int i = 0; i < 5; ++i) scene.launch(kernel);
    EXPECT_EQ(scene.driver.launches().size(), 100U);
    scene.cl.clFinish(scene.queue);
    const auto lessons = interpose::process().circumstances().lessons;
    ASSERT_EQ(lessons.size(), 1U);
    EXPECT_EQ(lessons[0].launch, "add 4096");
    EXPECT_THAT(lessons[0].words, testing::HasSubstr("alpha"));
    scene.expect_each_item_ran(9);
  }
}

TEST(Learning, TimeThatTheProgramSpendsElsewhereIsNotTheLaunchs) {
  Scene scene(quantum(5ms));
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 10ms, 0us);
  for (int i = 0; i < 3; ++i) slices_of(scene, kernel, by_finish);
  for (int i = 0; i < 6; ++i) {
    scene.driver.forget();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    scene.driver.clock().sleep_for(1s);
    scene.cl.clFinish(scene.queue);
    EXPECT_LE(scene.driver.launches().size(), 3U);
  }
}

TEST(Learning, OtherCommandsOnTheQueueAreNotTheLaunchs) {
  Scene scene(quantum(5ms));
  const cl_kernel kernel = scene.make_kernel();
  const cl_kernel other = scene.make_kernel(kSplittable, "sum");
  costs(scene, 10ms, 0us);
  scene.driver.cost("sum", [](const sim::Launch&) { return Nanoseconds(1s); });
  for (int i = 0; i < 3; ++i) slices_of(scene, kernel, by_finish);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(scene.launch(other), CL_SUCCESS);
    scene.driver.forget();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    EXPECT_LE(scene.driver.launches().size(), 3U);
    scene.cl.clFinish(scene.queue);
    scene.driver.forget();
    ASSERT_EQ(scene.launch(kernel), CL_SUCCESS);
    EXPECT_LE(scene.driver.launches().size(), 3U);
    ASSERT_EQ(scene.launch(other), CL_SUCCESS);
    scene.cl.clFinish(scene.queue);
  }
}

TEST(Learning, NothingIsAskedOfTheDriverForIt) {
  Scene scene(budget());
  const cl_kernel kernel = scene.make_kernel();
  costs(scene, 100ms, 100us);
  slices_of(scene, kernel, by_finish);
  for (int i = 0; i < 20; ++i) {
    scene.driver.forget();
    by_finish(scene, kernel);
    for (const char* function :
         {"clGetEventProfilingInfo", "clCreateCommandQueue", "clGetEventInfo", "clEnqueueMarkerWithWaitList",
          "clSetEventCallback", "clSetCommandQueueProperty"})
      EXPECT_EQ(scene.driver.count(function), 0U) << function;
    EXPECT_EQ(scene.driver.count("clFinish"), 1U);
  }
}

TEST(Learning, ReadWithAUserEventPendingWaitsForNothingFirst) {
  Scene scene(budget());
  const cl_kernel kernel = scene.make_kernel();
  cl_event gate = scene.user_event();
  ASSERT_EQ(scene.launch(kernel, nullptr, {gate}), CL_SUCCESS);
  cl_int value = 0;
  EXPECT_NE(scene.cl.clEnqueueReadBuffer(scene.queue, scene.buffer, CL_TRUE, 0, std::size_t{1} << 40U, &value,
                                         0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_FALSE(scene.driver.hung());
  scene.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  scene.expect_each_item_ran(1);
}

TEST(Learning, FailedLaunchTeachesNothing) {
  Scene scene(budget(), usual_driver(), CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = scene.make_kernel();
  scene.driver.fail_execution("add", 1, -1234);
  cl_event event = nullptr;
  ASSERT_EQ(scene.launch(kernel, &event), CL_SUCCESS);
  EXPECT_NE(scene.cl.clWaitForEvents(1, &event), CL_SUCCESS);
  scene.cl.clReleaseEvent(event);
  EXPECT_EQ(interpose::process().circumstances().lessons.at(0).measured, 0U);
}

class Kept : public testing::Test {
 protected:
  Kept() {
    std::string pattern = testing::TempDir() + "cleave-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    settings_ = budget();
    settings_.cache = folder_;
  }
  ~Kept() override { std::filesystem::remove_all(folder_); }

  // A run of a program; returns how many slices its first launch had.
  std::size_t run(int launches, Nanoseconds each = 100us) const {
    Scene scene(settings_);
    const cl_kernel kernel = scene.make_kernel();
    costs(scene, 100ms, each);
    const std::size_t first = slices_of(scene, kernel, by_finish);
    for (int i = 1; i < launches; ++i) slices_of(scene, kernel, by_finish);
    interpose::keep_lessons(interpose::process());
    return first;
  }

  std::string folder_;
  base::Settings settings_;
};

TEST_F(Kept, TheNextRunBeginsWithWhatThisOneLearnt) {
  EXPECT_EQ(run(12), 1U);
  const std::size_t first = run(1);
  EXPECT_GE(first, 20U);
  EXPECT_LE(first, 51U);
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(run(1), 1U) << "safe to delete";
}

TEST_F(Kept, AnotherPolicyKeepsNothing) {
  settings_.policy = {SplitPolicy::Kind::alpha, 0};
  run(12);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/costs"));
}

}  // namespace
}  // namespace cleave
