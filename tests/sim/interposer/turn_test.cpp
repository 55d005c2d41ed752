// Launches while another process shares the device.

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/kit/eventually.h"
#include "tests/kit/temporary_folder.h"
#include "tests/sim/interposer/turn_fixture.h"

namespace cleave {
namespace {

using namespace std::chrono_literals;

std::size_t events_asked_for(const sim::Driver& driver) { return driver.live(sim::Kind::event); }

TEST_F(TurnTest, AloneNothingIsHeldBack) {
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  EXPECT_EQ(driver.launches().size(), 20U);
  EXPECT_EQ(events_asked_for(driver), 0U);
  expect_each_item_ran(1);
}

TEST_F(TurnTest, SharedFewSlicesAreInFlight) {
  share();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  cl.clFinish(queue);
  driver.forget();
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  await_feeder();
  const auto slices = driver.launches();
  ASSERT_GT(slices.size(), 16U) << "4 ms of work";
  constexpr std::size_t kInFlight = 2;
  for (std::size_t i = kInFlight; i < slices.size(); ++i)
    EXPECT_GE(slices[i].queued, slices[i - kInFlight].ended);
  expect_each_item_ran(2);
  expect_device_is_given_back();
}

// They cannot wait for others or for the program, so they may be cut and waited for, with their work-groups in order.
TEST_F(TurnTest, KernelsThatOnlyCommunicateAreCutInOrder) {
  share();
  driver.cost("uses_atomics", [](const sim::Launch& launch) {
    return base::Nanoseconds(1'000) * static_cast<int>(launch.global[0]);
  });
  const cl_kernel uses_atomics = make_kernel(kUsesAtomics, "uses_atomics");
  for (int i = 0; i < 2; ++i) {
    driver.forget();
    ASSERT_EQ(launch(uses_atomics), CL_SUCCESS);
    await_feeder();
    cl.clFinish(queue);
    const auto slices = driver.executions();
    ASSERT_GT(slices.size(), 4U) << "4 ms of work";
    for (std::size_t k = 1; k < slices.size(); ++k) {
      EXPECT_GT(slices[k].offset[0], slices[k - 1].offset[0]);
      EXPECT_GE(slices[k].started, slices[k - 1].ended);
    }
  }
  expect_each_item_ran(2);
  EXPECT_EQ(turn_figures().launches, 2U);
  expect_device_is_given_back();
}

// The program must not wait for it, either.
TEST_F(TurnTest, KernelsThatMayWaitAreNotCut) {
  share();
  driver.cost("may_wait", [](const sim::Launch&) { return base::Nanoseconds(20ms); });
  const cl_kernel waits = make_kernel(kMayWait, "may_wait");
  for (int i = 0; i < 2; ++i) {
    const auto before = driver.clock().now();
    ASSERT_EQ(launch(waits), CL_SUCCESS);
    EXPECT_LT(driver.clock().now() - before, 20ms);
    cl.clFinish(queue);
  }
  EXPECT_EQ(driver.launches().size(), 2U);
  expect_each_item_ran(2);
  expect_device_is_given_back();
}

// As on real systems, so that the end of each launch is noticed late.
sim::Options late_sleeps() {
  sim::Options options;
  options.sleep_lateness = 70us;
  return options;
}

class LateSleepsTest : public TurnTest {
 protected:
  LateSleepsTest() : TurnTest(base::TurnMode::on, late_sleeps()) {}

  static constexpr std::size_t kGroup = 16;

  // The share of the time in which the device had nothing to do, while so many launches of so many groups were made one after the other.
  double idle_share(cl_kernel of, int launches, std::size_t groups = kItems / kGroup) {
    driver.forget();
    for (int i = 0; i < launches; ++i) EXPECT_EQ(cl.launch(queue, of, {groups * kGroup, kGroup}), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    const auto made = driver.launches();
    base::Nanoseconds idle{0};
    for (std::size_t i = 1; i < made.size(); ++i) idle += made[i].started - made[i - 1].ended;
    return static_cast<double>(idle.count()) /
           static_cast<double>((made.back().ended - made.front().started).count());
  }
};

TEST_F(LateSleepsTest, StreamOfShortLaunchesKeepsTheDeviceBusy) {
  share();
  const cl_kernel whole = make_kernel(kUsesGroupId, "reads_group_id");
  // What is known of the kernel is too much at first each time, and then too little.
  for (const auto took : {150us, 75us, 20us, 300us}) {
    driver.cost("reads_group_id", [took](const sim::Launch& launch) {
      return base::Nanoseconds(took) * static_cast<int>(launch.global[0]) / static_cast<int>(kItems);
    });
    idle_share(whole, 300);
    EXPECT_LT(idle_share(whole, 400), 0.05) << took.count() << " µs";
  }
}

// There is no event at the end of such a launch, and few ends of slices within it.
TEST_F(LateSleepsTest, StreamOfLaunchesInFewSlicesIsMeasuredAnew) {
  share();
  const cl_kernel in_slices = make_kernel(kUsesGroupId, "reads_group_id");
  for (const std::size_t groups : {8U, 64U}) {
    for (const auto took : {4000us, 300us, 1500us}) {
      driver.cost("reads_group_id", [took, groups](const sim::Launch& launch) {
        return base::Nanoseconds(took) * static_cast<int>(launch.global[0]) /
               static_cast<int>(groups * kGroup);
      });
      idle_share(in_slices, 200, groups);
      EXPECT_LT(idle_share(in_slices, 100, groups), 0.05) << took.count() << " µs, " << groups << " groups";
      if (took > 1ms) {
        EXPECT_GT(driver.launches().size(), 200U) << "cut, but for those that are measured";
      }
    }
  }
}

// Launches that end sooner than the next one is made say nothing of how long they take, but that it is not long.
TEST_F(LateSleepsTest, FewLaunchesAreInFlightWhereThoseBeforeWereVeryShort) {
  share();
  const cl_kernel whole = make_kernel(kUsesGroupId, "reads_group_id");
  std::atomic<int> took{1'000};
  driver.cost("reads_group_id", [&](const sim::Launch& launch) {
    return base::Nanoseconds(took) * static_cast<int>(launch.global[0]) / static_cast<int>(kItems);
  });
  const auto launch_with_event = [&] { static_cast<void>(launch_event(whole)); };
  for (int i = 0; i < 500; ++i) launch_with_event();
  ASSERT_EQ(cl.clFinish(queue), CL_SUCCESS);
  driver.forget();
  took = 5'000'000;
  for (int i = 0; i < 100; ++i) launch_with_event();
  ASSERT_EQ(cl.clFinish(queue), CL_SUCCESS);
  const auto made = driver.launches();
  constexpr std::size_t kMost = 40;
  for (std::size_t i = kMost; i < made.size(); ++i)
    ASSERT_GE(made[i].queued, made[i - kMost].ended) << "launch " << i;
}

TEST_F(TurnTest, LaunchWaitsForTheDevice) {
  share();
  ASSERT_TRUE(other.begin());
  std::jthread program([&] { EXPECT_EQ(launch(kernel), CL_SUCCESS); });
  expect_somebody_waits();
  EXPECT_EQ(driver.launches().size(), 0U);
  other.end();
  program.join();
  expect_each_item_ran(1);
  expect_device_is_given_back();
}

TEST_F(TurnTest, QueueThatWasChangedMeanwhileIsTakenAsItIs) {
  share();
  ASSERT_TRUE(other.begin());
  std::jthread program([&] { EXPECT_EQ(launch(kernel), CL_SUCCESS); });
  expect_somebody_waits();
  ASSERT_EQ(cl.clSetCommandQueueProperty(queue, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_TRUE, nullptr),
            CL_SUCCESS);
  other.end();
  program.join();
  expect_each_item_ran(1);
  const auto slices = driver.launches();
  ASSERT_GT(slices.size(), 1U);
  for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_FALSE(slices[i].waits.empty()) << "not in order";
  expect_device_is_given_back();
}

TEST_F(TurnTest, DeviceIsGivenAwayBetweenSlices) {
  share();
  std::atomic<std::size_t> seen{0};
  interrupt([&] { seen = slices_run.load(); });
  ASSERT_EQ(launch(kernel), CL_SUCCESS);
  cl.clFinish(queue);
  expect_device_is_given_back();
  neighbour.join();
  EXPECT_LT(seen, slices_run) << "it waited for the whole launch";
  expect_each_item_ran(1);
}

TEST_F(TurnTest, WholeLaunchesTakeTurnsToo) {
  share();
  const cl_kernel whole = make_kernel(kUsesGroupId, "reads_group_id");
  driver.forget();  // the probe's launches
  ASSERT_TRUE(other.begin());
  std::jthread program([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(launch(whole), CL_SUCCESS);
  });
  expect_somebody_waits();
  EXPECT_EQ(driver.launches().size(), 0U);
  other.end();
  program.join();
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(statistics().launches, 100U);
  expect_device_is_given_back();
}

// Neither the program's queue nor that of its wait list is flushed by the program.
TEST(ConfiguredTurns, NothingIsWaitedForThatIsNotFlushed) {
  const kit::TemporaryFolder folder;
  InterposerFixture fixture(in_turns(folder.path()), lazy_driver());
  base::ForkLocks forks;
  turns::Turns other(forks, beside(folder.path(), fixture.driver));
  std::string problem;
  ASSERT_TRUE(other.enter(problem)) << problem;
  const cl_kernel kernel = fixture.make_kernel();
  const cl_kernel whole = fixture.make_kernel(kUsesGroupId, "reads_group_id");
  cl_command_queue elsewhere = fixture.make_queue();
  const auto start = fixture.driver.clock().now();
  for (int i = 0; i < 5; ++i) {
    const kit::Event first = fixture.launch_event(i % 2 == 0 ? whole : kernel);
    ASSERT_EQ(fixture.launch_on(elsewhere, whole, nullptr, {first}), CL_SUCCESS);
    const kit::Event second = fixture.launch_event(whole, {first});
    ASSERT_EQ(fixture.launch_on(elsewhere, kernel, nullptr, {second}), CL_SUCCESS);
  }
  EXPECT_LT(fixture.driver.clock().now() - start, 200ms) << "nothing had to be given up";
  EXPECT_EQ(fixture.cl.clFinish(elsewhere), CL_SUCCESS);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(InterposerFixture::statistics().launches, 20U);
}

// What is waited for must not depend on the waiting thread.
TEST_F(TurnTest, BehindAPendingUserEventALaunchTakesNoTurn) {
  share();
  ASSERT_TRUE(other.begin());
  const cl_event opens = user_event();
  ASSERT_EQ(launch(kernel, nullptr, {opens}), CL_SUCCESS) << "although another process holds the device";
  ASSERT_EQ(cl.clSetUserEventStatus(opens, CL_COMPLETE), CL_SUCCESS);
  expect_each_item_ran(1);
  other.end();
}

TEST_F(TurnTest, InACallbackALaunchTakesNoTurn) {
  const cl_event opens = user_event();
  const kit::Event marker = cl.marker_event(queue, {opens});
  const kit::Setup::EventAction action = [&](cl_event, cl_int) { EXPECT_EQ(launch(kernel), CL_SUCCESS); };
  at_status(marker, CL_COMPLETE, action);
  share();
  ASSERT_TRUE(other.begin());
  ASSERT_EQ(cl.clSetUserEventStatus(opens, CL_COMPLETE), CL_SUCCESS);
  cl.clFinish(queue);
  expect_each_item_ran(1);
  other.end();
}

// Cleave does not know of that event, so that only time tells.
TEST_F(TurnTest, WhatDependsOnTheProgramIsNotWaitedForLong) {
  share();
  DriverOnlyEvent opens(*this);
  const auto start = driver.clock().now();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(launch(kernel, nullptr, {opens.get()}), CL_SUCCESS);
  EXPECT_LT(driver.clock().now() - start, 2s);
  EXPECT_EQ(turn_figures().state, "given up");
  EXPECT_EQ(turn_figures().stalls, 3U);
  opens.open();
  expect_each_item_ran(20);
}

TEST_F(TurnTest, CommandsThatAreLateNowAndThenDoNotEndItsTurns) {
  share();
  for (unsigned i = 1; i <= 5; ++i) {
    DriverOnlyEvent opens(*this);
    ASSERT_EQ(launch(kernel, nullptr, {opens.get()}), CL_SUCCESS);
    ASSERT_TRUE(kit::eventually([&] { return turn_figures().stalls == i; }));
    opens.open();
    cl.clFinish(queue);
    ASSERT_EQ(launch(kernel), CL_SUCCESS);
    cl.clFinish(queue);
    driver.clock().sleep_for(61s);
  }
  EXPECT_EQ(turn_figures().stalls, 5U);
  EXPECT_EQ(turn_figures().state, "joined");
  expect_each_item_ran(10);
}

// The last reference to an event may be ours, and the event's to a context.
TEST_F(TurnTest, ReleasedEventMayCallTheProgramBack) {
  share();
  struct Called {
    InterposerFixture* test;
    cl_kernel kernel;
    std::atomic<bool> done{false};
  } called{this, kernel};
  {
    const kit::Context context = cl.context(device);
    const auto call = [](cl_context, void* data) {
      auto& self = *static_cast<Called*>(data);
      EXPECT_EQ(self.test->launch(self.kernel), CL_SUCCESS);
      EXPECT_EQ(self.test->cl.clFinish(self.test->queue), CL_SUCCESS);
      self.done = true;
    };
    ASSERT_EQ(cl.clSetContextDestructorCallback(context, call, &called), CL_SUCCESS);
    const kit::Queue own_queue = cl.queue(context, device);
    const kit::Buffer own_buffer = cl.buffer(context, std::vector<cl_int>(kItems, 0));
    const kit::Program program = cl.build(context, kSplittable);
    const kit::Kernel add = cl.kernel(program, "add", own_buffer, cl_int{1});
    for (int i = 0; i < 3; ++i) ASSERT_EQ(launch_on(own_queue, add), CL_SUCCESS);
  }
  EXPECT_TRUE(kit::eventually([&] {
    driver.clock().sleep_for(10ms);
    return called.done.load();
  }));
  expect_each_item_ran(1);
  expect_device_is_given_back();
}

TEST_F(TurnTest, ErrorsAreTheDrivers) {
  share();
  EXPECT_EQ(cl.launch(queue, kernel, {kItems, 17}, {}, nullptr), CL_SUCCESS);
  EXPECT_EQ(cl.launch(queue, kernel, {kItems, 4096}, {}, nullptr), CL_INVALID_WORK_ITEM_SIZE);
  driver.fail("clEnqueueNDRangeKernel", 1, CL_OUT_OF_RESOURCES);
  driver.fail("clEnqueueNDRangeKernel", 2, CL_OUT_OF_RESOURCES);
  driver.fail("clEnqueueNDRangeKernel", 3, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(launch(kernel), CL_OUT_OF_RESOURCES);
  expect_each_item_ran(1);
  expect_device_is_given_back();
}

TEST_F(TurnTest, FailedSliceFailsTheEvent) {
  share();
  driver.fail_execution("add", 3, CL_OUT_OF_RESOURCES);
  const kit::Event event = launch_event(kernel);
  EXPECT_NE(cl.wait({event}), CL_SUCCESS);
  EXPECT_LT(status(event), 0);
  expect_device_is_given_back();
}

TEST_F(TurnTest, ThreadsOfOneProcessShareItsTurn) {
  share();
  const auto kernels = make_kernels(4);
  kit::on_threads(kernels.size(), [&](std::size_t thread) {
    cl_command_queue own = cl.clCreateCommandQueue(context, device, 0, nullptr);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(launch_on(own, kernels[thread]), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(own), CL_SUCCESS);
    EXPECT_EQ(cl.clReleaseCommandQueue(own), CL_SUCCESS);
  });
  EXPECT_EQ(statistics().launches, 16U);
  expect_device_is_given_back();
}

TEST_F(TurnTest, WhoHasTheDeviceNeverMissesTheEndOfTheOthers) {
  share();
  std::atomic<bool> done{false};
  std::size_t turns = 0;
  std::jthread neighbour([&] {
    for (; !done; ++turns) {
      EXPECT_TRUE(other.begin());
      other.end();
    }
  });
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(launch(kernel), CL_SUCCESS);
    EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
    driver.clock().sleep_for(1s);
  }
  done = true;
  driver.clock().sleep_for(1s);
  neighbour.join();
  expect_each_item_ran(8);
}

}  // namespace
}  // namespace cleave
