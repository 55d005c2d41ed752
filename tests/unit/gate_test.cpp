#include "interpose/queues/gate.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

TEST(Gate, ClosesWhenTheLastThreadLeaves) {
  Gate gate;
  gate.enter();
  EXPECT_FALSE(gate.close());
  gate.leave();
  EXPECT_TRUE(gate.close());
  gate.open();
}

TEST(Gate, IsReentrantForItsOwner) {
  Gate gate;
  ASSERT_TRUE(gate.close());
  gate.enter();
  gate.leave();
  EXPECT_FALSE(gate.close());
  gate.open();
  EXPECT_TRUE(gate.close());
  gate.open();
}

TEST(Gate, OtherThreadsBlockAndAreCounted) {
  Gate gate;
  ASSERT_TRUE(gate.close());
  std::atomic<bool> inside{false};
  std::jthread other([&] {
    const GateGuard passage(gate);
    inside = true;
  });
  while (gate.waiting().load() == 0) std::this_thread::yield();
  EXPECT_FALSE(inside);
  gate.open();
  other.join();
  EXPECT_TRUE(inside);
  EXPECT_EQ(gate.waiting().load(), 0);
}

TEST(Gate, ExcludesAllOthersWhileClosed) {
  constexpr int kTimes = 3000;
  Gate gate;
  std::atomic<int> inside{0};
  std::atomic<int> met{0};
  std::atomic<int> closures{0};
  const auto pass = [&] {
    const GateGuard passage(gate);
    ++inside;
    --inside;
  };
  const auto close = [&] {
    const ExclusiveGate closure(&gate);
    if (!closure.is_exclusive()) return;
    ++closures;
    if (inside.load() != 0) ++met;
  };
  kit::on_threads(5, [&](std::size_t thread) {
    while (closures < kTimes) thread < 3 ? pass() : close();
  });
  EXPECT_EQ(met.load(), 0);
}

TEST(Gates, QueuesAreDistributedOverGates) {
  const auto gates = std::make_unique<Gates>();
  EXPECT_EQ(&gates->of(&gates), &gates->of(&gates));
  EXPECT_NE(&gates->of(reinterpret_cast<void*>(0x10000)), &gates->of(reinterpret_cast<void*>(0x10040)));
}

}  // namespace
}  // namespace cleave::interpose
