// What a wait for a command depends on, where commands wait for user events.

#include "remote/server/worker/held_commands.h"

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cleave::remote::server {
namespace {

template <typename Handle>
Handle handle(std::size_t number) {
  static std::array<char, 64> objects;
  return reinterpret_cast<Handle>(&objects.at(number));
}

struct HeldCommandsTest : testing::Test {
  void SetUp() override {
    held.add_queue(in_order, true);
    held.add_queue(out_of_order, false);
    held.add_user_event(gate);
  }
  bool holds_wait(cl_event event) { return !held.before_events(HeldCommands::Events(&event, 1)).empty(); }
  void enqueue(cl_command_queue queue, cl_event event, std::vector<cl_event> waits = {}) {
    held.add_command(queue, waits, event);
  }

  HeldCommands held;
  const cl_command_queue in_order = handle<cl_command_queue>(0);
  const cl_command_queue out_of_order = handle<cl_command_queue>(1);
  const cl_event gate = handle<cl_event>(2);
  const cl_event first = handle<cl_event>(3);
  const cl_event second = handle<cl_event>(4);
};

TEST_F(HeldCommandsTest, InOrderQueueIsHeldFromTheWaitingCommandOn) {
  enqueue(in_order, first);
  EXPECT_TRUE(held.before_queue(in_order).empty());
  enqueue(in_order, nullptr, {gate});
  enqueue(in_order, second);
  EXPECT_FALSE(holds_wait(first));
  EXPECT_TRUE(holds_wait(second));
  EXPECT_FALSE(held.before_queue(in_order).empty());
  EXPECT_TRUE(held.before_queue(out_of_order).empty());
  held.open(gate);
  EXPECT_FALSE(holds_wait(second));
  EXPECT_TRUE(held.before_queue(in_order).empty());
}

TEST_F(HeldCommandsTest, OutOfOrderQueueHoldsOnlyWhatWaitsAndItsFinish) {
  enqueue(out_of_order, first, {gate});
  enqueue(out_of_order, second);
  EXPECT_TRUE(holds_wait(first));
  EXPECT_FALSE(holds_wait(second));
  EXPECT_FALSE(held.before_queue(out_of_order).empty());
}

TEST_F(HeldCommandsTest, DependenciesAreFollowedAcrossQueues) {
  enqueue(out_of_order, first, {gate});
  enqueue(out_of_order, second);
  enqueue(in_order, nullptr, {second});
  EXPECT_FALSE(held.before_queue(in_order).empty())
      << "finishing executes what is before it on the other queue";
  EXPECT_FALSE(held.before_queue(handle<cl_command_queue>(5), HeldCommands::Events(&first, 1)).empty());
}

TEST_F(HeldCommandsTest, HandleThatIsUsedAgainHasNoPast) {
  enqueue(in_order, first, {gate});
  held.remove(first);
  EXPECT_FALSE(holds_wait(first));
  held.add_queue(in_order, true);
  enqueue(in_order, first);
  EXPECT_FALSE(holds_wait(first));
}

TEST_F(HeldCommandsTest, WaitEndsWhenTheUserEventIsSet) {
  enqueue(in_order, first, {gate});
  const HeldCommands::Gates gates = held.before_queue(in_order);
  std::atomic<bool> set{false};
  std::thread program([&] {
    set = true;
    held.open(gate);
  });
  held.wait_until_open(gates);
  EXPECT_TRUE(set);
  program.join();
}

}  // namespace
}  // namespace cleave::remote::server
