// Commands in virtual time: order, waiting, hanging.
#include "tests/sim/driver/driver.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/driver_fixture.h"

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

TEST(VirtualClock, SleepTakesNoRealTime) {
  DriverFixture fixture(exact());
  const auto real = std::chrono::steady_clock::now();
  fixture.driver.clock().sleep_for(24h);
  EXPECT_EQ(fixture.driver.clock().now(), 24h);
  EXPECT_LT(std::chrono::steady_clock::now() - real, 10s);
}

TEST(VirtualClock, FinishAdvancesToTheEnd) {
  DriverFixture fixture(exact());
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_EQ(fixture.driver.clock().now(), 0us);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.clock().now(), 20us);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.clock().now(), 20us);
}

TEST(VirtualClock, WaitForEventsAdvancesToItsEventOnly) {
  DriverFixture fixture(exact());
  const cl_event first = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event second = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_EQ(fixture.cl.wait({first}), CL_SUCCESS);
  EXPECT_EQ(fixture.driver.clock().now(), 10us);
  EXPECT_EQ(fixture.status(second), CL_RUNNING);
}

TEST(VirtualClock, EnqueueAndPollCostsAreConfigurable) {
  Options options = exact();
  options.enqueue_cost = 3us;
  options.poll_cost = 1us;
  DriverFixture fixture(options);
  const cl_event event = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_EQ(fixture.driver.clock().now(), 3us);
  EXPECT_EQ(fixture.status(event), CL_RUNNING);
  EXPECT_EQ(fixture.driver.clock().now(), 4us);
}

TEST(VirtualClock, LaunchDurationFollowsTheCostModel) {
  Options options = exact();
  options.per_item = 2ns;
  DriverFixture fixture(options);
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1000);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.driver.clock().now(), 12us);
  fixture.driver.cost("idle", [](const Launch& launch) { return 1us * static_cast<int>(launch.global[0]); });
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 7);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.driver.clock().now(), 19us);
}

TEST(Driver, StatusFollowsTheClock) {
  Options options = exact();
  options.submit_delay = 2us;
  DriverFixture fixture(options);
  const cl_event first = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event second = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_EQ(fixture.status(first), CL_QUEUED);
  fixture.driver.clock().sleep_for(2us);
  EXPECT_EQ(fixture.status(first), CL_RUNNING);
  EXPECT_EQ(fixture.status(second), CL_SUBMITTED);
  fixture.driver.clock().sleep_for(10us);
  EXPECT_EQ(fixture.status(first), CL_COMPLETE);
  EXPECT_EQ(fixture.status(second), CL_RUNNING);
}

TEST(Driver, DataIsWrittenAtTheEndOfACommand) {
  DriverFixture fixture(exact());
  std::vector<cl_int> host{1, 2};
  const kit::Buffer buffer = fixture.cl.own(fixture.cl.clCreateBuffer(
      fixture.context, CL_MEM_USE_HOST_PTR, sizeof(cl_int) * 2, host.data(), nullptr));
  fixture.launch(fixture.queue, fixture.make_add(buffer, 5), 2);
  fixture.driver.clock().sleep_for(9us);
  EXPECT_EQ(host, (std::vector<cl_int>{1, 2}));
  fixture.driver.clock().sleep_for(1us);
  EXPECT_EQ(host, (std::vector<cl_int>{6, 7}));
}

TEST(Driver, UnorderedReadSeesOldData) {
  DriverFixture fixture(exact());
  const cl_mem buffer = fixture.make_buffer({0});
  const cl_event gate = fixture.user_event();
  fixture.launch(fixture.queue, fixture.make_add(buffer, 1), 1, {gate});
  const cl_command_queue other = fixture.make_queue();
  cl_int seen = -1;
  EXPECT_EQ(fixture.cl.read(other, buffer, kit::Blocking::yes, std::span(&seen, 1)), CL_SUCCESS);
  EXPECT_EQ(seen, 0);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(fixture.read(buffer, 1), std::vector<cl_int>{1});
}

TEST(Driver, UserEventBlocksTheQueue) {
  DriverFixture fixture(exact());
  const cl_event gate = fixture.user_event();
  const cl_event first = fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {gate});
  const cl_event second = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.driver.clock().sleep_for(1s);
  EXPECT_EQ(fixture.status(first), CL_SUBMITTED);
  EXPECT_EQ(fixture.status(second), CL_SUBMITTED);
  EXPECT_EQ(fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(fixture.status(first), CL_RUNNING);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.status(second), CL_COMPLETE);
}

TEST(Driver, OutOfOrderQueueHonoursWaitListsOnly) {
  DriverFixture fixture(exact(), out_of_order);
  const cl_event gate = fixture.user_event();
  const cl_event held = fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {gate});
  const cl_event after = fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {held});
  const cl_event free = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.driver.clock().sleep_for(10us);
  EXPECT_EQ(fixture.status(free), CL_COMPLETE);
  EXPECT_EQ(fixture.status(held), CL_SUBMITTED);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.driver.clock().sleep_for(10us);
  EXPECT_EQ(fixture.status(held), CL_COMPLETE);
  EXPECT_EQ(fixture.status(after), CL_RUNNING);
}

TEST(Driver, BarrierBlocksLaterCommands) {
  DriverFixture fixture(exact(), out_of_order);
  const cl_event gate = fixture.user_event();
  const cl_event before = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_EQ(fixture.cl.barrier(fixture.queue, {gate}), CL_SUCCESS);
  const cl_event after = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.driver.clock().sleep_for(1s);
  EXPECT_EQ(fixture.status(before), CL_COMPLETE);
  EXPECT_EQ(fixture.status(after), CL_SUBMITTED);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(fixture.status(after), CL_COMPLETE);
}

TEST(Driver, MarkerWaitsForEarlierCommandsAndBlocksNothing) {
  DriverFixture fixture(exact(), out_of_order);
  const cl_event gate = fixture.user_event();
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {gate});
  cl_event marker = nullptr;
  EXPECT_EQ(fixture.cl.marker(fixture.queue, {}, &marker), CL_SUCCESS);
  fixture.keep(marker);
  const cl_event after = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.driver.clock().sleep_for(1s);
  EXPECT_EQ(fixture.status(after), CL_COMPLETE);
  EXPECT_EQ(fixture.status(marker), CL_SUBMITTED);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.cl.wait({marker});
  EXPECT_EQ(fixture.driver.clock().now(), 1s + 10us);
}

TEST(Driver, QueuesAlternateOnOneDevice) {
  DriverFixture fixture(exact());
  const cl_command_queue other = fixture.make_queue();
  for (int i = 0; i < 3; ++i) fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.launch(other, fixture.make_kernel("other"));
  fixture.driver.run_until_idle();
  std::vector<std::string> order;
  for (const Launch& launch : fixture.driver.executions()) order.push_back(launch.kernel);
  EXPECT_EQ(order, (std::vector<std::string>{"idle", "other", "idle", "idle"}));
}

TEST(Driver, ConcurrentCommandsWhereTheDeviceAllows) {
  Options options = exact();
  options.concurrent_commands = 2;
  DriverFixture fixture(options);
  const cl_command_queue other = fixture.make_queue();
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.launch(other, fixture.make_kernel("idle"));
  fixture.driver.run_until_idle();
  EXPECT_EQ(fixture.driver.clock().now(), 10us);
}

TEST(Driver, LazyQueueStartsAtItsFlush) {
  Options options = exact();
  options.lazy_flush = true;
  DriverFixture fixture(options);
  const cl_event event = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.driver.clock().sleep_for(1s);
  EXPECT_EQ(fixture.status(event), CL_QUEUED);
  EXPECT_EQ(fixture.cl.clFlush(fixture.queue), CL_SUCCESS);
  EXPECT_EQ(fixture.status(event), CL_RUNNING);
  fixture.driver.clock().sleep_for(10us);
  EXPECT_EQ(fixture.status(event), CL_COMPLETE);
}

TEST(Driver, WaitFlushesOnlyTheQueueOfTheEvent) {
  Options options = exact();
  options.lazy_flush = true;
  options.hang_timeout = 20ms;
  DriverFixture fixture(options);
  const cl_command_queue other = fixture.make_queue();
  const cl_event first = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  const cl_event second = fixture.launch(other, fixture.make_kernel("idle"), 1, {first});
  EXPECT_EQ(fixture.cl.wait({second}), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(fixture.driver.hung());
  fixture.cl.clFlush(fixture.queue);
  EXPECT_EQ(fixture.cl.wait({second}), CL_SUCCESS);
}

TEST(Driver, EndlessWaitTimesOut) {
  Options options = exact();
  options.hang_timeout = 20ms;
  DriverFixture fixture(options);
  const cl_event gate = fixture.user_event();
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {gate});
  EXPECT_FALSE(fixture.driver.hung());
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(fixture.driver.hung());
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
}

TEST(Driver, TimedOutBlockingReadWritesNothingLater) {
  Options options = exact();
  options.hang_timeout = 20ms;
  DriverFixture fixture(options);
  const cl_mem buffer = fixture.make_buffer({7});
  const cl_event gate = fixture.user_event();
  cl_int seen = 0;
  cl_event event = nullptr;
  EXPECT_EQ(
      fixture.cl.read(fixture.queue, buffer, kit::Blocking::yes, std::span(&seen, 1), 0, {gate}, &event),
      CL_OUT_OF_RESOURCES);
  EXPECT_EQ(event, nullptr);
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  fixture.driver.run_until_idle();
  EXPECT_EQ(seen, 0);
}

TEST(Driver, AnotherThreadCanEndAWait) {
  DriverFixture fixture(exact());
  const cl_event gate = fixture.user_event();
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {gate});
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
  });
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_SUCCESS);
  other.join();
  EXPECT_FALSE(fixture.driver.hung());
}

TEST(Driver, ManyThreadsShareOneClockAndLog) {
  DriverFixture fixture(exact());
  const cl_mem buffer = fixture.make_buffer({0});
  constexpr int launches = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    const cl_command_queue queue = fixture.make_queue();
    const cl_kernel kernel = fixture.make_add(buffer, 1);
    threads.emplace_back([&fixture, queue, kernel] {
      for (int n = 0; n < launches; ++n) {
        fixture.cl.launch(queue, kernel, {1});
        fixture.driver.clock().sleep_for(1us);
      }
      EXPECT_EQ(fixture.cl.clFinish(queue), CL_SUCCESS);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(fixture.read(buffer, 1), std::vector<cl_int>{4 * launches});
  EXPECT_EQ(fixture.driver.launches().size(), 4u * launches);
  EXPECT_EQ(fixture.driver.count("clEnqueueNDRangeKernel"), 4u * launches);
}

TEST(Driver, ReleasedQueueFinishesItsCommands) {
  Options options = exact();
  options.lazy_flush = true;
  DriverFixture fixture(options);
  const cl_mem buffer = fixture.make_buffer({0});
  kit::Queue queue = fixture.cl.queue(fixture.context, fixture.device);
  fixture.launch(queue, fixture.make_add(buffer, 3), 1);
  queue.reset();
  fixture.driver.run_until_idle();
  EXPECT_EQ(fixture.read(buffer, 1), std::vector<cl_int>{3});
}

TEST(Driver, RunsAreDeterministic) {
  const auto run = [] {
    DriverFixture fixture(Options{}, out_of_order);
    const cl_command_queue other = fixture.make_queue();
    std::vector<cl_event> events;
    for (std::size_t i = 0; i < 40; ++i) {
      const bool first = i % 3 == 0;
      std::vector<cl_event> waits;
      if (i % 5 == 4) waits.push_back(events[i / 2]);
      events.push_back(
          fixture.launch(first ? other : fixture.queue, fixture.make_kernel("idle"), 1 + i * 37, waits));
    }
    fixture.driver.run_until_idle();
    std::vector<std::pair<std::uint64_t, Nanoseconds>> order;
    for (const Launch& launch : fixture.driver.executions()) order.emplace_back(launch.id, launch.started);
    return order;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace cleave::sim
