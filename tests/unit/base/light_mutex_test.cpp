#include "base/threads/light_mutex.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kit/threads.h"

namespace cleave::base {
namespace {

TEST(LightMutex, HoldsOneThreadAtATime) {
  LightMutex mutex;
  int count = 0;
  kit::on_threads(4, [&](std::size_t) {
    for (int i = 0; i < 20'000; ++i) {
      const LightLock lock(mutex);
      ++count;
      if (i % 1000 == 0) std::this_thread::yield();  // others wait, asleep
    }
  });
  EXPECT_EQ(count, 80'000);
}

// Each is woken, though a release wakes only one.
TEST(LightMutex, WakesAllThatWait) {
  LightMutex mutex;
  std::atomic<int> begun{0};
  int count = 0;
  mutex.lock();
  std::vector<std::jthread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] {
      ++begun;
      const LightLock lock(mutex);
      ++count;
    });
  }
  while (begun != 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(count, 0);
  mutex.unlock();
  waiting.clear();
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace cleave::base
