// The policies that learn what launches cost, as a program and its driver see them.

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <gmock/gmock.h>

#include "interpose/costs/cost_feedback.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using base::Nanoseconds;
using base::SplitPolicy;

base::Settings learning(SplitPolicy policy, unsigned vms = 5) {
  base::Settings settings = default_settings();
  settings.policy = policy;
  settings.vms = vms;
  settings.wait = base::WaitMode::native;
  return settings;
}
base::Settings budget() { return learning({SplitPolicy::Kind::budget, 0}); }
base::Settings quantum(Nanoseconds length, unsigned vms = 1) {
  return learning({SplitPolicy::Kind::quantum, 0, length}, vms);
}

// A launch takes `unsplit`, a slice its share of that and `each` on top.
void costs(InterposerFixture& fixture, Nanoseconds unsplit, Nanoseconds each) {
  for (const char* name : {"add", "sum"}) {
    fixture.driver.cost(name, [=](const sim::Launch& slice) {
      const auto items = static_cast<std::int64_t>(slice.global[0]);
      const bool split = slice.global[0] < InterposerFixture::kItems;
      return unsplit * items / static_cast<std::int64_t>(InterposerFixture::kItems) + (split ? each : 0ns);
    });
  }
}

// One launch and what comes behind it; returns the number of driver launches it became.
using LaunchMethod = void (*)(InterposerFixture&, cl_kernel);
std::size_t launch_and_count_slices(InterposerFixture& fixture, cl_kernel kernel, LaunchMethod way) {
  fixture.driver.forget();
  way(fixture, kernel);
  return fixture.driver.launches().size();
}

void by_finish(InterposerFixture& fixture, cl_kernel kernel) {
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  ASSERT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
}
void by_event(InterposerFixture& fixture, cl_kernel kernel) {
  const kit::Event event = fixture.launch_event(kernel);
  ASSERT_EQ(fixture.cl.wait({event}), CL_SUCCESS);
}
void by_reading(InterposerFixture& fixture, cl_kernel kernel) {
  ASSERT_EQ(fixture.launch(kernel), CL_SUCCESS);
  fixture.read();
}

struct Case {
  const char* name;
  LaunchMethod way;
  base::WaitMode wait;
  cl_command_queue_properties properties;
};

void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }

base::Settings quantum_of_5ms() { return quantum(5ms); }
using Budget = LaunchTest<budget>;
using Quantum = LaunchTest<quantum_of_5ms>;

class CostPolicy : public testing::TestWithParam<Case> {};

TEST_P(CostPolicy, BudgetConvergesInTenLaunches) {
  InterposerFixture fixture(kit::with(budget(), &base::Settings::wait, GetParam().wait), default_driver(),
                            GetParam().properties);
  const cl_kernel kernel = fixture.make_kernel();
  costs(fixture, 100ms, 100us);
  for (int i = 0; i < 10; ++i) launch_and_count_slices(fixture, kernel, GetParam().way);
  const std::size_t slices = launch_and_count_slices(fixture, kernel, GetParam().way);
  EXPECT_GE(slices, 25U) << "half of what is possible";
  EXPECT_LE(slices, 51U);
  fixture.expect_each_item_ran(11);
}

INSTANTIATE_TEST_SUITE_P(Ways, CostPolicy,
                         testing::Values(Case{"Finish", by_finish, base::WaitMode::native, 0},
                                         Case{"SleepingFinish", by_finish, base::WaitMode::sleeping, 0},
                                         Case{"Event", by_event, base::WaitMode::native, 0},
                                         Case{"SleepingEvent", by_event, base::WaitMode::sleeping, 0},
                                         Case{"Reading", by_reading, base::WaitMode::native, 0},
                                         Case{"SleepingReading", by_reading, base::WaitMode::sleeping, 0},
                                         Case{"OutOfOrder", by_event, base::WaitMode::native,
                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE},
                                         Case{"Profiling", by_event, base::WaitMode::native,
                                              CL_QUEUE_PROFILING_ENABLE}),
                         testing::PrintToStringParamName());

// What it waits for would be counted, and a wait for it may need what the program does next.
TEST_F(Budget, LaunchesWaitingForOthersAreNotTimed) {
  const cl_kernel other = make_kernel(kSplittable, "sum");
  const cl_command_queue elsewhere = make_queue();
  driver.cost("add", [](const sim::Launch&) { return 100us; });
  driver.cost("sum", [](const sim::Launch&) { return 10ms; });
  launch_and_count_slices(*this, kernel, by_finish);
  driver.forget();
  for (int i = 0; i < 10; ++i) {
    kit::Event first = cl.event();
    ASSERT_EQ(launch_on(elsewhere, other, first.out()), CL_SUCCESS);
    ASSERT_EQ(launch(kernel, nullptr, {first}), CL_SUCCESS);
    ASSERT_EQ(cl.clFinish(queue), CL_SUCCESS);
  }
  for (const learn::CostReport& report : interpose::interposer().costs.table().reports(10)) {
    EXPECT_EQ(report.advice.measured, report.name.starts_with("add") ? 1U : 0U) << report.name;
  }
  expect_each_item_ran(21);
}

TEST(CostPolicy, BudgetAppliesToPipelinedLaunches) {
  InterposerFixture fixture(kit::with(budget(), &base::Settings::launch, base::LaunchMode::pipelined),
                            concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  costs(fixture, 100ms, 400us);
  for (int i = 0; i < 10; ++i) launch_and_count_slices(fixture, kernel, by_finish);
  const auto start = fixture.driver.clock().now();
  EXPECT_GE(launch_and_count_slices(fixture, kernel, by_finish), 12U);
  EXPECT_LE(fixture.driver.clock().now() - start, 106ms);
  fixture.expect_each_item_ran(11);
}

// A driver in which each slice costs the host more than the device.
cl_int CL_API_CALL enqueue_slowly(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                  const size_t* offset, const size_t* global, const size_t* local,
                                  cl_uint waits, const cl_event* list, cl_event* event) {
  interpose::interposer().clock.sleep_for(100us);
  return sim::Driver::table().clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, list,
                                                     event);
}

TEST(CostPolicy, BudgetIncludesEnqueueTime) {
  Table below = sim::Driver::table();
  below.clEnqueueNDRangeKernel = enqueue_slowly;
  InterposerFixture fixture(budget(), default_driver(), 0, below);
  const cl_kernel kernel = fixture.make_kernel();
  costs(fixture, 10ms, 0us);
  for (int i = 0; i < 10; ++i) launch_and_count_slices(fixture, kernel, by_finish);
  const auto start = fixture.driver.clock().now();
  EXPECT_GE(launch_and_count_slices(fixture, kernel, by_finish), 40U);
  EXPECT_LE(fixture.driver.clock().now() - start, 10700us);
}

TEST_F(Budget, BudgetAdaptsToAChange) {
  costs(*this, 100ms, 100us);
  for (int i = 0; i < 15; ++i) launch_and_count_slices(*this, kernel, by_finish);
  costs(*this, 10ms, 100us);
  for (int i = 0; i < 20; ++i) launch_and_count_slices(*this, kernel, by_finish);
  const std::size_t slices = launch_and_count_slices(*this, kernel, by_finish);
  EXPECT_GE(slices, 3U);
  EXPECT_LE(slices, 6U);
}

TEST(CostPolicy, BudgetIsBoundedByTheVmCount) {
  InterposerFixture fixture(learning({SplitPolicy::Kind::budget, 0}, 2));
  const cl_kernel kernel = fixture.make_kernel();
  costs(fixture, 100ms, 0us);
  for (int i = 0; i < 12; ++i) EXPECT_LE(launch_and_count_slices(fixture, kernel, by_finish), 200U);
  EXPECT_EQ(launch_and_count_slices(fixture, kernel, by_finish), 200U);
}

TEST_F(Budget, BudgetLeavesShortLaunchesUnsplit) {
  costs(*this, 100us, 20us);
  for (int i = 0; i < 12; ++i) launch_and_count_slices(*this, kernel, by_finish);
  EXPECT_EQ(launch_and_count_slices(*this, kernel, by_finish), 1U);
  EXPECT_GT(unsplit(plan::UnsplitReason::measuring), 0U);
  EXPECT_GT(unsplit(plan::UnsplitReason::costly), 0U);
}

TEST(CostPolicy, BudgetDoesNotSplitWithoutNeighbours) {
  InterposerFixture fixture(learning({SplitPolicy::Kind::budget, 0}, 1));
  const cl_kernel kernel = fixture.make_kernel();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(launch_and_count_slices(fixture, kernel, by_finish), 1U);
  EXPECT_EQ(InterposerFixture::unsplit(plan::UnsplitReason::alone), 12U);
}

TEST_F(Quantum, NoSliceExceedsTheQuantum) {
  costs(*this, 1000ms, 10us);
  EXPECT_EQ(launch_and_count_slices(*this, kernel, by_finish), 16U) << "a guess";
  for (int i = 0; i < 5; ++i) {
    const std::size_t slices = launch_and_count_slices(*this, kernel, by_finish);
    EXPECT_EQ(slices, 256U) << "200 would be some of one work-group and some of two";
    for (const sim::Launch& slice : driver.executions()) EXPECT_LE(slice.ended - slice.started, 5ms);
  }
  costs(*this, 1ms, 10us);
  for (int i = 0; i < 6; ++i) launch_and_count_slices(*this, kernel, by_finish);
  EXPECT_EQ(launch_and_count_slices(*this, kernel, by_finish), 1U) << "short enough by now";
  EXPECT_GT(unsplit(plan::UnsplitReason::below_quantum), 0U);
}

TEST(CostPolicy, ConcurrentSlicesShareTheQuantum) {
  InterposerFixture fixture(kit::with(quantum(10ms), &base::Settings::launch, base::LaunchMode::pipelined),
                            concurrent_driver());
  const cl_kernel kernel = fixture.make_kernel();
  costs(fixture, 1000ms, 10us);
  for (int i = 0; i < 4; ++i) launch_and_count_slices(fixture, kernel, by_finish);
  const std::size_t slices = launch_and_count_slices(fixture, kernel, by_finish);
  // This device runs slices side by side as if each had it for itself, so the launch takes half as long.
  EXPECT_GE(slices, 100U) << "50 quanta on two queues at least";
  EXPECT_LE(slices, 200U) << "and on four at most";
}

TEST_F(Quantum, NewSizeStartsFromThatOfAnother) {
  costs(*this, 400ms, 0us);
  for (int i = 0; i < 3; ++i) launch_and_count_slices(*this, kernel, by_finish);
  driver.forget();
  const std::size_t local = 16;
  ASSERT_EQ(cl.launch(queue, kernel, {kItems / 2, local}), CL_SUCCESS);
  cl.clFinish(queue);
  EXPECT_GE(driver.launches().size(), 40U);
  EXPECT_LE(driver.launches().size(), 56U);
}

TEST(CostPolicy, UnmeasurableLaunchesUseAlpha) {
  for (const base::Settings& settings : {budget(), quantum(5ms, 5)}) {
    InterposerFixture fixture(settings);
    const cl_kernel kernel = fixture.make_kernel();
    costs(fixture, 10ms, 100us);
    for (int i = 0; i < 4; ++i) fixture.launch(kernel);
    fixture.driver.forget();
    for (int i = 0; i < 5; ++i) fixture.launch(kernel);
    EXPECT_EQ(fixture.driver.launches().size(), 100U);
    fixture.cl.clFinish(fixture.queue);
    const auto costs = interpose::interposer().summary_context().costs;
    ASSERT_EQ(costs.size(), 1U);
    EXPECT_EQ(costs[0].launch, "add 4096");
    EXPECT_THAT(costs[0].words, testing::HasSubstr("alpha"));
    fixture.expect_each_item_ran(9);
  }
}

TEST_F(Quantum, HostTimeElsewhereIsNotCounted) {
  costs(*this, 10ms, 0us);
  for (int i = 0; i < 3; ++i) launch_and_count_slices(*this, kernel, by_finish);
  for (int i = 0; i < 6; ++i) {
    driver.forget();
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    driver.clock().sleep_for(1s);
    cl.clFinish(queue);
    EXPECT_LE(driver.launches().size(), 3U);
  }
}

TEST_F(Quantum, OtherCommandsAreNotCounted) {
  const cl_kernel other = make_kernel(kSplittable, "sum");
  costs(*this, 10ms, 0us);
  driver.cost("sum", [](const sim::Launch&) { return Nanoseconds(1s); });
  for (int i = 0; i < 3; ++i) launch_and_count_slices(*this, kernel, by_finish);
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(launch(other), CL_SUCCESS);
    driver.forget();
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_LE(driver.launches().size(), 3U);
    cl.clFinish(queue);
    driver.forget();
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_LE(driver.launches().size(), 3U);
    ASSERT_EQ(launch(other), CL_SUCCESS);
    cl.clFinish(queue);
  }
}

TEST_F(Budget, NeedsNoAdditionalDriverCalls) {
  costs(*this, 100ms, 100us);
  launch_and_count_slices(*this, kernel, by_finish);
  for (int i = 0; i < 20; ++i) {
    driver.forget();
    by_finish(*this, kernel);
    for (const char* function :
         {"clGetEventProfilingInfo", "clCreateCommandQueue", "clGetEventInfo", "clEnqueueMarkerWithWaitList",
          "clSetEventCallback", "clSetCommandQueueProperty"})
      EXPECT_EQ(driver.count(function), 0U) << function;
    EXPECT_EQ(driver.count("clFinish"), 1U);
  }
}

TEST_F(Budget, ReadBehindAUserEventAddsNoWait) {
  cl_event gate = user_event();
  ASSERT_EQ(launch(kernel, nullptr, {gate}), CL_SUCCESS);
  cl_int value = 0;
  EXPECT_NE(
      cl.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, std::size_t{1} << 40U, &value, 0, nullptr, nullptr),
      CL_SUCCESS);
  EXPECT_FALSE(driver.hung());
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  expect_each_item_ran(1);
}

TEST(CostPolicy, FailedLaunchIsNotMeasured) {
  InterposerFixture fixture(budget(), default_driver(), CL_QUEUE_PROFILING_ENABLE);
  const cl_kernel kernel = fixture.make_kernel();
  fixture.driver.fail_execution("add", 1, -1234);
  kit::Event event = fixture.launch_event(kernel);
  EXPECT_NE(fixture.cl.wait({event}), CL_SUCCESS);
  event.reset();
  EXPECT_EQ(interpose::interposer().summary_context().costs.at(0).measured, 0U);
}

class SavedCosts : public testing::Test {
 protected:
  // A run of a program; returns how many slices its first launch had.
  std::size_t run(int launches, Nanoseconds each = 100us) const {
    InterposerFixture fixture(settings_);
    const cl_kernel kernel = fixture.make_kernel();
    costs(fixture, 100ms, each);
    const std::size_t first = launch_and_count_slices(fixture, kernel, by_finish);
    for (int i = 1; i < launches; ++i) launch_and_count_slices(fixture, kernel, by_finish);
    interpose::interposer().costs.save(interpose::interposer().settings().cache);
    return first;
  }

  const kit::TemporaryFolder folder_;
  base::Settings settings_ = kit::with(budget(), &base::Settings::cache, folder_.path());
};

TEST_F(SavedCosts, NextRunStartsFromSavedCosts) {
  EXPECT_EQ(run(12), 1U);
  const std::size_t first = run(1);
  EXPECT_GE(first, 20U);
  EXPECT_LE(first, 51U);
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(run(1), 1U) << "safe to delete";
}

TEST_F(SavedCosts, OtherPoliciesSaveNothing) {
  settings_.policy = {SplitPolicy::Kind::alpha, 0};
  run(12);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("costs")));
}

}  // namespace
}  // namespace cleave
