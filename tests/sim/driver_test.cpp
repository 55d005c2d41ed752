// Commands in virtual time: order, waiting, hanging.
#include "tests/sim/driver/driver.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/rig.h"

namespace cleave::sim {
namespace {

using namespace std::chrono_literals;

constexpr cl_command_queue_properties out_of_order = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;

Options exact() {
  Options options;
  options.per_launch = 10us;
  options.per_item = 0ns;
  options.enqueue_cost = 0ns;
  return options;
}

TEST(Clock, SleepingIsVirtual) {
  Rig rig(exact());
  const auto real = std::chrono::steady_clock::now();
  rig.driver.clock().sleep_for(24h);
  EXPECT_EQ(rig.driver.clock().now(), 24h);
  EXPECT_LT(std::chrono::steady_clock::now() - real, 10s);
}

TEST(Clock, FinishJumpsToTheEnd) {
  Rig rig(exact());
  rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.launch(rig.queue, rig.make_kernel("idle"));
  EXPECT_EQ(rig.driver.clock().now(), 0us);
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_SUCCESS);
  EXPECT_EQ(rig.driver.clock().now(), 20us);
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_SUCCESS);
  EXPECT_EQ(rig.driver.clock().now(), 20us);
}

TEST(Clock, WaitingForAnEventJumpsNoFurther) {
  Rig rig(exact());
  const cl_event first = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event second = rig.launch(rig.queue, rig.make_kernel("idle"));
  EXPECT_EQ(rig.cl.clWaitForEvents(1, &first), CL_SUCCESS);
  EXPECT_EQ(rig.driver.clock().now(), 10us);
  EXPECT_EQ(rig.status(second), CL_RUNNING);
}

TEST(Clock, EnqueuingAndPollingCostWhatTheOptionsSay) {
  Options options = exact();
  options.enqueue_cost = 3us;
  options.poll_cost = 1us;
  Rig rig(options);
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  EXPECT_EQ(rig.driver.clock().now(), 3us);
  rig.status(event);
  EXPECT_EQ(rig.driver.clock().now(), 4us);
}

TEST(Clock, ALaunchLastsPerLaunchPlusItemsOrItsOwnCost) {
  Options options = exact();
  options.per_item = 2ns;
  Rig rig(options);
  rig.launch(rig.queue, rig.make_kernel("idle"), 1000);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(rig.driver.clock().now(), 12us);
  rig.driver.cost("idle", [](const Launch& launch) { return 1us * static_cast<int>(launch.global[0]); });
  rig.launch(rig.queue, rig.make_kernel("idle"), 7);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(rig.driver.clock().now(), 19us);
}

TEST(Driver, StatusFollowsTheClock) {
  Options options = exact();
  options.submit_delay = 2us;
  Rig rig(options);
  const cl_event first = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event second = rig.launch(rig.queue, rig.make_kernel("idle"));
  EXPECT_EQ(rig.status(first), CL_QUEUED);
  rig.driver.clock().sleep_for(2us);
  EXPECT_EQ(rig.status(first), CL_RUNNING);
  EXPECT_EQ(rig.status(second), CL_SUBMITTED);
  rig.driver.clock().sleep_for(10us);
  EXPECT_EQ(rig.status(first), CL_COMPLETE);
  EXPECT_EQ(rig.status(second), CL_RUNNING);
}

TEST(Driver, DataAppearsOnlyAtTheEnd) {
  Rig rig(exact());
  std::vector<cl_int> host{1, 2};
  const cl_mem buffer =
      rig.cl.clCreateBuffer(rig.context, CL_MEM_USE_HOST_PTR, sizeof(cl_int) * 2, host.data(), nullptr);
  rig.launch(rig.queue, rig.make_add(buffer, 5), 2);
  rig.driver.clock().sleep_for(9us);
  EXPECT_EQ(host, (std::vector<cl_int>{1, 2}));
  rig.driver.clock().sleep_for(1us);
  EXPECT_EQ(host, (std::vector<cl_int>{6, 7}));
  rig.cl.clReleaseMemObject(buffer);
}

TEST(Driver, AReadThatOvertakesSeesOldData) {
  Rig rig(exact());
  const cl_mem buffer = rig.make_buffer({0});
  const cl_event gate = rig.user_event();
  rig.launch(rig.queue, rig.make_add(buffer, 1), 1, {gate});
  const cl_command_queue other = rig.make_queue();
  cl_int seen = -1;
  EXPECT_EQ(rig.cl.clEnqueueReadBuffer(other, buffer, CL_TRUE, 0, sizeof seen, &seen, 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(seen, 0);
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{1});
}

TEST(Driver, UserEventHoldsTheQueue) {
  Rig rig(exact());
  const cl_event gate = rig.user_event();
  const cl_event first = rig.launch(rig.queue, rig.make_kernel("idle"), 1, {gate});
  const cl_event second = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.driver.clock().sleep_for(1s);
  EXPECT_EQ(rig.status(first), CL_SUBMITTED);
  EXPECT_EQ(rig.status(second), CL_SUBMITTED);
  EXPECT_EQ(rig.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(rig.status(first), CL_RUNNING);
  rig.cl.clFinish(rig.queue);
  EXPECT_EQ(rig.status(second), CL_COMPLETE);
}

TEST(Driver, AnOutOfOrderQueueGoesByWaitListsAlone) {
  Rig rig(exact(), out_of_order);
  const cl_event gate = rig.user_event();
  const cl_event held = rig.launch(rig.queue, rig.make_kernel("idle"), 1, {gate});
  const cl_event after = rig.launch(rig.queue, rig.make_kernel("idle"), 1, {held});
  const cl_event free = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.driver.clock().sleep_for(10us);
  EXPECT_EQ(rig.status(free), CL_COMPLETE);
  EXPECT_EQ(rig.status(held), CL_SUBMITTED);
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  rig.driver.clock().sleep_for(10us);
  EXPECT_EQ(rig.status(held), CL_COMPLETE);
  EXPECT_EQ(rig.status(after), CL_RUNNING);
}

TEST(Driver, ABarrierHoldsBackWhatComesAfter) {
  Rig rig(exact(), out_of_order);
  const cl_event gate = rig.user_event();
  const cl_event before = rig.launch(rig.queue, rig.make_kernel("idle"));
  EXPECT_EQ(rig.cl.clEnqueueBarrierWithWaitList(rig.queue, 1, &gate, nullptr), CL_SUCCESS);
  const cl_event after = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.driver.clock().sleep_for(1s);
  EXPECT_EQ(rig.status(before), CL_COMPLETE);
  EXPECT_EQ(rig.status(after), CL_SUBMITTED);
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_SUCCESS);
  EXPECT_EQ(rig.status(after), CL_COMPLETE);
}

TEST(Driver, AMarkerWaitsForAllBeforeItAndHoldsBackNothing) {
  Rig rig(exact(), out_of_order);
  const cl_event gate = rig.user_event();
  rig.launch(rig.queue, rig.make_kernel("idle"), 1, {gate});
  cl_event marker = nullptr;
  EXPECT_EQ(rig.cl.clEnqueueMarkerWithWaitList(rig.queue, 0, nullptr, &marker), CL_SUCCESS);
  rig.keep(marker);
  const cl_event after = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.driver.clock().sleep_for(1s);
  EXPECT_EQ(rig.status(after), CL_COMPLETE);
  EXPECT_EQ(rig.status(marker), CL_SUBMITTED);
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  rig.cl.clWaitForEvents(1, &marker);
  EXPECT_EQ(rig.driver.clock().now(), 1s + 10us);
}

TEST(Driver, QueuesTakeTurnsOnOneDevice) {
  Rig rig(exact());
  const cl_command_queue other = rig.make_queue();
  for (int i = 0; i < 3; ++i) rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.launch(other, rig.make_kernel("other"));
  rig.driver.run_until_idle();
  std::vector<std::string> order;
  for (const Launch& launch : rig.driver.executions()) order.push_back(launch.kernel);
  EXPECT_EQ(order, (std::vector<std::string>{"idle", "other", "idle", "idle"}));
}

TEST(Driver, MoreThanOneCommandAtATimeIfTheDeviceHasRoom) {
  Options options = exact();
  options.concurrent_commands = 2;
  Rig rig(options);
  const cl_command_queue other = rig.make_queue();
  rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.launch(other, rig.make_kernel("idle"));
  rig.driver.run_until_idle();
  EXPECT_EQ(rig.driver.clock().now(), 10us);
}

TEST(Driver, ALazyQueueStartsNothingBeforeItsFlush) {
  Options options = exact();
  options.lazy_flush = true;
  Rig rig(options);
  const cl_event event = rig.launch(rig.queue, rig.make_kernel("idle"));
  rig.driver.clock().sleep_for(1s);
  EXPECT_EQ(rig.status(event), CL_QUEUED);
  EXPECT_EQ(rig.cl.clFlush(rig.queue), CL_SUCCESS);
  EXPECT_EQ(rig.status(event), CL_RUNNING);
  rig.driver.clock().sleep_for(10us);
  EXPECT_EQ(rig.status(event), CL_COMPLETE);
}

TEST(Driver, WaitingFlushesTheEventsQueueAndNoOther) {
  Options options = exact();
  options.lazy_flush = true;
  options.hang_timeout = 20ms;
  Rig rig(options);
  const cl_command_queue other = rig.make_queue();
  const cl_event first = rig.launch(rig.queue, rig.make_kernel("idle"));
  const cl_event second = rig.launch(other, rig.make_kernel("idle"), 1, {first});
  EXPECT_EQ(rig.cl.clWaitForEvents(1, &second), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(rig.driver.hung());
  rig.cl.clFlush(rig.queue);
  EXPECT_EQ(rig.cl.clWaitForEvents(1, &second), CL_SUCCESS);
}

TEST(Driver, AWaitThatCannotEndIsGivenUp) {
  Options options = exact();
  options.hang_timeout = 20ms;
  Rig rig(options);
  const cl_event gate = rig.user_event();
  rig.launch(rig.queue, rig.make_kernel("idle"), 1, {gate});
  EXPECT_FALSE(rig.driver.hung());
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(rig.driver.hung());
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
}

TEST(Driver, ABlockingReadThatWasGivenUpWritesNothingLater) {
  Options options = exact();
  options.hang_timeout = 20ms;
  Rig rig(options);
  const cl_mem buffer = rig.make_buffer({7});
  const cl_event gate = rig.user_event();
  cl_int seen = 0;
  cl_event event = nullptr;
  EXPECT_EQ(rig.cl.clEnqueueReadBuffer(rig.queue, buffer, CL_TRUE, 0, sizeof seen, &seen, 1, &gate, &event),
            CL_OUT_OF_RESOURCES);
  EXPECT_EQ(event, nullptr);
  rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  rig.driver.run_until_idle();
  EXPECT_EQ(seen, 0);
}

TEST(Driver, AnotherThreadMayEndAWait) {
  Rig rig(exact());
  const cl_event gate = rig.user_event();
  rig.launch(rig.queue, rig.make_kernel("idle"), 1, {gate});
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    rig.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  });
  EXPECT_EQ(rig.cl.clFinish(rig.queue), CL_SUCCESS);
  other.join();
  EXPECT_FALSE(rig.driver.hung());
}

TEST(Driver, ManyThreadsShareOneClockAndLog) {
  Rig rig(exact());
  const cl_mem buffer = rig.make_buffer({0});
  constexpr int launches = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    const cl_command_queue queue = rig.make_queue();
    const cl_kernel kernel = rig.make_add(buffer, 1);
    threads.emplace_back([&rig, queue, kernel] {
      const std::size_t one = 1;
      for (int n = 0; n < launches; ++n) {
        rig.cl.clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, nullptr);
        rig.driver.clock().sleep_for(1us);
      }
      EXPECT_EQ(rig.cl.clFinish(queue), CL_SUCCESS);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{4 * launches});
  EXPECT_EQ(rig.driver.launches().size(), 4u * launches);
  EXPECT_EQ(rig.driver.count("clEnqueueNDRangeKernel"), 4u * launches);
}

TEST(Driver, ReleasingTheQueueLetsItsCommandsRun) {
  Options options = exact();
  options.lazy_flush = true;
  Rig rig(options);
  const cl_mem buffer = rig.make_buffer({0});
  const cl_queue_properties* none = nullptr;
  const cl_command_queue queue =
      rig.cl.clCreateCommandQueueWithProperties(rig.context, rig.driver.device(), none, nullptr);
  rig.launch(queue, rig.make_add(buffer, 3), 1);
  EXPECT_EQ(rig.cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  rig.driver.run_until_idle();
  EXPECT_EQ(rig.read(buffer, 1), std::vector<cl_int>{3});
}

TEST(Driver, CommandsOfTheSameProgramRunTheSameEveryTime) {
  const auto run = [] {
    Rig rig(Options{}, out_of_order);
    const cl_command_queue other = rig.make_queue();
    std::vector<cl_event> events;
    for (std::size_t i = 0; i < 40; ++i) {
      const bool first = i % 3 == 0;
      std::vector<cl_event> waits;
      if (i % 5 == 4) waits.push_back(events[i / 2]);
      events.push_back(rig.launch(first ? other : rig.queue, rig.make_kernel("idle"), 1 + i * 37, waits));
    }
    rig.driver.run_until_idle();
    std::vector<std::pair<std::uint64_t, Nanoseconds>> order;
    for (const Launch& launch : rig.driver.executions()) order.emplace_back(launch.id, launch.started);
    return order;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace cleave::sim
