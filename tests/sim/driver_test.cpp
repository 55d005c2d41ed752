// Commands in virtual time: order, waiting, hanging.
#include "tests/sim/driver/driver.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kit/threads.h"
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

Options lazy() {
  Options options = exact();
  options.lazy_flush = true;
  options.hang_timeout = 20ms;
  return options;
}

using VirtualClock = DriverTest<exact>;
using CommandOrder = DriverTest<exact>;
using OutOfOrderQueue = DriverTest<exact, out_of_order>;
using LazyQueue = DriverTest<lazy>;

TEST_F(VirtualClock, SleepTakesNoRealTime) {
  const auto real = std::chrono::steady_clock::now();
  driver.clock().sleep_for(24h);
  EXPECT_EQ(driver.clock().now(), 24h);
  EXPECT_LT(std::chrono::steady_clock::now() - real, 10s);
}

TEST_F(VirtualClock, FinishAdvancesToTheEnd) {
  launch(queue, make_kernel("idle"));
  launch(queue, make_kernel("idle"));
  EXPECT_EQ(driver.clock().now(), 0us);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(driver.clock().now(), 20us);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(driver.clock().now(), 20us);
}

TEST_F(VirtualClock, WaitForEventsAdvancesToItsEventOnly) {
  const cl_event first = launch(queue, make_kernel("idle"));
  const cl_event second = launch(queue, make_kernel("idle"));
  EXPECT_EQ(cl.wait({first}), CL_SUCCESS);
  EXPECT_EQ(driver.clock().now(), 10us);
  EXPECT_EQ(status(second), CL_RUNNING);
}

TEST(ConfiguredDriver, EnqueueAndPollCostsAreConfigurable) {
  DriverFixture fixture(kit::with(exact(), &Options::enqueue_cost, 3us, &Options::poll_cost, 1us));
  const cl_event event = fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  EXPECT_EQ(fixture.driver.clock().now(), 3us);
  EXPECT_EQ(fixture.status(event), CL_RUNNING);
  EXPECT_EQ(fixture.driver.clock().now(), 4us);
}

TEST(ConfiguredDriver, LaunchDurationFollowsTheCostModel) {
  DriverFixture fixture(kit::with(exact(), &Options::per_item, 2ns));
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1000);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.driver.clock().now(), 12us);
  fixture.driver.cost("idle", [](const Launch& launch) { return 1us * static_cast<int>(launch.global[0]); });
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 7);
  fixture.cl.clFinish(fixture.queue);
  EXPECT_EQ(fixture.driver.clock().now(), 19us);
}

TEST(ConfiguredDriver, StatusFollowsTheClock) {
  DriverFixture fixture(kit::with(exact(), &Options::submit_delay, 2us));
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

TEST_F(CommandOrder, DataIsWrittenAtTheEndOfACommand) {
  std::vector<cl_int> host{1, 2};
  const kit::Buffer buffer = cl.buffer(context, sizeof(cl_int) * 2, CL_MEM_USE_HOST_PTR, host.data());
  launch(queue, make_add(buffer, 5), 2);
  driver.clock().sleep_for(9us);
  EXPECT_EQ(host, (std::vector<cl_int>{1, 2}));
  driver.clock().sleep_for(1us);
  EXPECT_EQ(host, (std::vector<cl_int>{6, 7}));
}

TEST_F(CommandOrder, UnorderedReadSeesOldData) {
  const cl_mem buffer = make_buffer({0});
  const cl_event gate = user_event();
  launch(queue, make_add(buffer, 1), 1, {gate});
  const cl_command_queue other = make_queue();
  cl_int seen = -1;
  EXPECT_EQ(cl.read(other, buffer, kit::Blocking::yes, std::span(&seen, 1)), CL_SUCCESS);
  EXPECT_EQ(seen, 0);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{1});
}

TEST_F(CommandOrder, UserEventBlocksTheQueue) {
  const cl_event gate = user_event();
  const cl_event first = launch(queue, make_kernel("idle"), 1, {gate});
  const cl_event second = launch(queue, make_kernel("idle"));
  driver.clock().sleep_for(1s);
  EXPECT_EQ(status(first), CL_SUBMITTED);
  EXPECT_EQ(status(second), CL_SUBMITTED);
  EXPECT_EQ(cl.clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(status(first), CL_RUNNING);
  cl.clFinish(queue);
  EXPECT_EQ(status(second), CL_COMPLETE);
}

TEST_F(OutOfOrderQueue, HonoursWaitListsOnly) {
  const cl_event gate = user_event();
  const cl_event held = launch(queue, make_kernel("idle"), 1, {gate});
  const cl_event after = launch(queue, make_kernel("idle"), 1, {held});
  const cl_event free = launch(queue, make_kernel("idle"));
  driver.clock().sleep_for(10us);
  EXPECT_EQ(status(free), CL_COMPLETE);
  EXPECT_EQ(status(held), CL_SUBMITTED);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  driver.clock().sleep_for(10us);
  EXPECT_EQ(status(held), CL_COMPLETE);
  EXPECT_EQ(status(after), CL_RUNNING);
}

TEST_F(OutOfOrderQueue, BarrierBlocksLaterCommands) {
  const cl_event gate = user_event();
  const cl_event before = launch(queue, make_kernel("idle"));
  EXPECT_EQ(cl.barrier(queue, {gate}), CL_SUCCESS);
  const cl_event after = launch(queue, make_kernel("idle"));
  driver.clock().sleep_for(1s);
  EXPECT_EQ(status(before), CL_COMPLETE);
  EXPECT_EQ(status(after), CL_SUBMITTED);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  EXPECT_EQ(status(after), CL_COMPLETE);
}

TEST_F(OutOfOrderQueue, MarkerWaitsForEarlierCommandsAndBlocksNothing) {
  const cl_event gate = user_event();
  launch(queue, make_kernel("idle"), 1, {gate});
  const kit::Event marker = cl.marker_event(queue);
  const cl_event after = launch(queue, make_kernel("idle"));
  driver.clock().sleep_for(1s);
  EXPECT_EQ(status(after), CL_COMPLETE);
  EXPECT_EQ(status(marker), CL_SUBMITTED);
  cl.clSetUserEventStatus(gate, CL_COMPLETE);
  cl.wait({marker});
  EXPECT_EQ(driver.clock().now(), 1s + 10us);
}

TEST_F(CommandOrder, QueuesAlternateOnOneDevice) {
  const cl_command_queue other = make_queue();
  for (int i = 0; i < 3; ++i) launch(queue, make_kernel("idle"));
  launch(other, make_kernel("other"));
  driver.run_until_idle();
  std::vector<std::string> order;
  for (const Launch& launch : driver.executions()) order.push_back(launch.kernel);
  EXPECT_EQ(order, (std::vector<std::string>{"idle", "other", "idle", "idle"}));
}

TEST(ConfiguredDriver, ConcurrentCommandsWhereTheDeviceAllows) {
  DriverFixture fixture(kit::with(exact(), &Options::concurrent_commands, 2));
  const cl_command_queue other = fixture.make_queue();
  fixture.launch(fixture.queue, fixture.make_kernel("idle"));
  fixture.launch(other, fixture.make_kernel("idle"));
  fixture.driver.run_until_idle();
  EXPECT_EQ(fixture.driver.clock().now(), 10us);
}

TEST_F(LazyQueue, StartsAtItsFlush) {
  const cl_event event = launch(queue, make_kernel("idle"));
  driver.clock().sleep_for(1s);
  EXPECT_EQ(status(event), CL_QUEUED);
  EXPECT_EQ(cl.clFlush(queue), CL_SUCCESS);
  EXPECT_EQ(status(event), CL_RUNNING);
  driver.clock().sleep_for(10us);
  EXPECT_EQ(status(event), CL_COMPLETE);
}

TEST_F(LazyQueue, WaitFlushesOnlyTheQueueOfTheEvent) {
  const cl_command_queue other = make_queue();
  const cl_event first = launch(queue, make_kernel("idle"));
  const cl_event second = launch(other, make_kernel("idle"), 1, {first});
  EXPECT_EQ(cl.wait({second}), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(driver.hung());
  cl.clFlush(queue);
  EXPECT_EQ(cl.wait({second}), CL_SUCCESS);
}

TEST(ConfiguredDriver, EndlessWaitTimesOut) {
  DriverFixture fixture(kit::with(exact(), &Options::hang_timeout, 20ms));
  const cl_event gate = fixture.user_event();
  fixture.launch(fixture.queue, fixture.make_kernel("idle"), 1, {gate});
  EXPECT_FALSE(fixture.driver.hung());
  EXPECT_EQ(fixture.cl.clFinish(fixture.queue), CL_OUT_OF_RESOURCES);
  EXPECT_TRUE(fixture.driver.hung());
  fixture.cl.clSetUserEventStatus(gate, CL_COMPLETE);
}

TEST(ConfiguredDriver, TimedOutBlockingReadWritesNothingLater) {
  DriverFixture fixture(kit::with(exact(), &Options::hang_timeout, 20ms));
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

TEST_F(CommandOrder, AnotherThreadCanEndAWait) {
  const cl_event gate = user_event();
  launch(queue, make_kernel("idle"), 1, {gate});
  std::thread other([&] {
    std::this_thread::sleep_for(5ms);
    cl.clSetUserEventStatus(gate, CL_COMPLETE);
  });
  EXPECT_EQ(cl.clFinish(queue), CL_SUCCESS);
  other.join();
  EXPECT_FALSE(driver.hung());
}

TEST_F(CommandOrder, ManyThreadsShareOneClockAndLog) {
  const cl_mem buffer = make_buffer({0});
  constexpr int launches = 50;
  const cl_kernel kernels[] = {make_add(buffer, 1), make_add(buffer, 1), make_add(buffer, 1),
                               make_add(buffer, 1)};
  kit::on_threads(4, [&](std::size_t thread) {
    const kit::Queue own = cl.queue(context, device);
    for (int n = 0; n < launches; ++n) {
      cl.launch(own, kernels[thread], {1});
      driver.clock().sleep_for(1us);
    }
    EXPECT_EQ(cl.clFinish(own), CL_SUCCESS);
  });
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{4 * launches});
  EXPECT_EQ(driver.launches().size(), 4u * launches);
  EXPECT_EQ(driver.count("clEnqueueNDRangeKernel"), 4u * launches);
}

TEST_F(LazyQueue, FinishesItsCommandsAfterItsRelease) {
  const cl_mem buffer = make_buffer({0});
  kit::Queue released = cl.queue(context, device);
  launch(released, make_add(buffer, 3), 1);
  released.reset();
  driver.run_until_idle();
  EXPECT_EQ(read(buffer, 1), std::vector<cl_int>{3});
}

TEST(ConfiguredDriver, RunsAreDeterministic) {
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
