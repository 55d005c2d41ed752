#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/threads/scoped_thread_state.h"

namespace cleave::base {
namespace {

using namespace std::chrono_literals;

TEST(ScopedPreciseSleep, TimerSlackIsRestored) {
  const int before = prctl(PR_GET_TIMERSLACK);
  ASSERT_EQ(prctl(PR_SET_TIMERSLACK, 12345UL), 0);
  {
    const ScopedPreciseSleep undisturbed;
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1);
  }
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 12345);
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before));
}

struct Sleeper {
  std::atomic<bool> asleep{false};
  std::atomic<bool> woke{false};
};

// A function such as those that C calls: nothing may be unwound through it.
void sleep_in_a_call(Sleeper& sleeper) noexcept {
  const ScopedPreciseSleep undisturbed;
  sleeper.asleep = true;
  std::this_thread::sleep_for(50ms);
  sleeper.woke = true;
}

TEST(ScopedPreciseSleep, CancellationIsDeferredToTheEndOfTheCall) {
  Sleeper sleeper;
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* data) -> void* {
                  sleep_in_a_call(*static_cast<Sleeper*>(data));
                  pthread_testcancel();
                  return data;
                },
                &sleeper),
            0);
  while (!sleeper.asleep) std::this_thread::yield();
  ASSERT_EQ(pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_TRUE(sleeper.woke);
  EXPECT_EQ(result, PTHREAD_CANCELED) << "and is cancelled after it";
}

}  // namespace
}  // namespace cleave::base
