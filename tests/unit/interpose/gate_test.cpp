#include "interpose/queues/gate.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "tests/kit/sanitizers.h"
#include "tests/kit/threads.h"

namespace cleave::interpose {
namespace {

// With and without the barrier, without which all threads use atomic additions.
class GateTest : public testing::TestWithParam<bool> {
 protected:
  GateTest() { gate.reset(GetParam()); }

  void SetUp() override {
    if (GetParam() && !has_barrier()) GTEST_SKIP() << "the system refuses membarrier";
  }

  // Whether a thread can close a gate that another one has passed.
  static bool has_barrier() {
    Gate any;
    any.reset(true);
    any.pass();
    bool closed = false;
    std::jthread([&] { closed = any.close(); }).join();
    return closed;
  }

  const std::unique_ptr<Gates> registers = std::make_unique<Gates>(true);  // the process, for the barrier
  Gate gate;
};

INSTANTIATE_TEST_SUITE_P(, GateTest, testing::Bool(),
                         [](const auto& by) { return by.param ? "ByStores" : "ByAdditions"; });

TEST_P(GateTest, ClosesWhenTheLastThreadLeaves) {
  {
    const GateGuard inside(gate);
    EXPECT_FALSE(gate.close());
  }
  EXPECT_TRUE(gate.close());
  gate.open();
}

TEST_P(GateTest, IsReentrantForItsOwner) {
  ASSERT_TRUE(gate.close());
  gate.pass();
  EXPECT_FALSE(gate.close());
  gate.open();
  EXPECT_TRUE(gate.close());
  gate.open();
}

TEST_P(GateTest, OtherThreadsBlockAndAreCounted) {
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

TEST_P(GateTest, ExcludesAllOthersWhileClosed) {
  constexpr int kTimes = 3000;
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

TEST_P(GateTest, TheFirstThreadIsSeenInside) {
  const auto closes = [&] {
    bool closed = false;
    std::jthread([&] {
      closed = gate.close();
      if (closed) gate.open();
    }).join();
    return closed;
  };
  gate.pass();
  {
    const GateGuard inside(gate);
    EXPECT_FALSE(closes());
    {
      const GateGuard again(gate);  // no longer by stores
      EXPECT_FALSE(closes());
    }
    EXPECT_FALSE(closes());
  }
  EXPECT_TRUE(closes());
}

// It waits as all others do.
TEST_P(GateTest, TheFirstThreadWaitsForOthers) {
  gate.pass();
  for (int i = 0; i < 3; ++i) {
    std::atomic<bool> tried{false};
    std::atomic<bool> passed{false};
    std::jthread other([&] {
      const ExclusiveGate closure(&gate);
      EXPECT_TRUE(closure.is_exclusive());
      tried = true;
      while (closure.is_exclusive() && gate.waiting().load() == 0) std::this_thread::yield();
      EXPECT_FALSE(passed);
    });
    while (!tried) std::this_thread::yield();
    gate.pass();
    passed = true;
  }
}

// A new gate each time, which the first thread has passed: one thread enters it while another one closes it, within some hundred
// nanoseconds. (Without the barrier, some closures are around the first thread in every third run, on two cores of an EPYC.)
TEST_P(GateTest, NobodyClosesItAroundTheFirstThread) {
  using std::chrono::nanoseconds;
  using Clock = std::chrono::steady_clock;
  // What is tested is how the processor orders memory accesses, which a sanitizer only makes slower.
  constexpr int kGates = kit::kSanitizer ? 2'000 : 20'000;
  std::atomic<int> round{0};
  std::atomic<int> closed{0};
  std::atomic<Clock::time_point> start{};
  std::atomic<bool> inside{false};
  int met = 0;
  const auto reach = [](const std::atomic<int>& count, int value) {
    while (count.load() < value) std::this_thread::yield();
  };
  const auto wait_until = [](Clock::time_point time) {
    while (Clock::now() < time) {
    }
  };
  std::jthread other([&] {
    for (int i = 1; i <= kGates; ++i) {
      reach(round, i);
      wait_until(start.load() + nanoseconds(i * 37 % 300));
      {
        const ExclusiveGate closure(&gate);
        bool seen = false;
        for (int look = 0; closure.is_exclusive() && look < 30; ++look) seen = seen || inside.load();
        met += seen ? 1 : 0;
      }
      closed = i;
    }
  });
  for (int i = 1; i <= kGates; ++i) {
    gate.reset(GetParam());
    gate.pass();
    start = Clock::now() + std::chrono::microseconds(10);
    round = i;
    wait_until(start.load() + nanoseconds(150));
    {
      const GateGuard passage(gate);
      inside.store(true, std::memory_order_relaxed);
      wait_until(Clock::now() + nanoseconds(100));
      inside.store(false, std::memory_order_relaxed);
    }
    reach(closed, i);
  }
  other.join();
  EXPECT_EQ(met, 0);
}

// The forking thread may be inside, from a callback of the driver's.
TEST_P(GateTest, TheThreadThatForksStaysInside) {
  gate.pass();
  const auto entry = gate.enter();
  gate.reset(GetParam());  // as in the child
  EXPECT_EQ(gate.close(), entry == Gate::Entry::by_addition) << "additions of all threads are forgotten";
  gate.open();
  gate.leave(entry);
  EXPECT_EQ(gate.close(), entry == Gate::Entry::by_store);
}

TEST(Gates, QueuesAreDistributedOverGates) {
  const auto gates = std::make_unique<Gates>(true);
  EXPECT_EQ(&gates->of(&gates), &gates->of(&gates));
  EXPECT_NE(&gates->of(reinterpret_cast<void*>(0x10000)), &gates->of(reinterpret_cast<void*>(0x10040)));
}

}  // namespace
}  // namespace cleave::interpose
