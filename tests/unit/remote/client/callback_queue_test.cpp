// Callbacks of the program, on a thread of ours.
#include "remote/client/objects/callback_queue.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <future>
#include <pthread.h>
#include <string>

#include <gtest/gtest.h>

#include "base/no_destructor.h"
#include "tests/kit/eventually.h"

namespace cleave::remote::client {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

sigset_t blocked_signals() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return blocked;
}

sigset_t blocked_in_callback(CallbackQueue& queue) {
  std::promise<sigset_t> blocked;
  queue.post([&] { blocked.set_value(blocked_signals()); });
  return blocked.get_future().get();
}

TEST(CallbackQueue, RunsFunctionsWithTheSignalsOfTheProgramsThread) {
  static base::NoDestructor<CallbackQueue> queue;
  sigset_t usr;
  sigset_t before;
  sigemptyset(&usr);
  sigaddset(&usr, SIGUSR1);
  sigaddset(&usr, SIGSEGV);
  pthread_sigmask(SIG_SETMASK, &usr, &before);
  queue->use_signals_of_this_thread();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int i = 0; i < 2; ++i) {
    const sigset_t blocked = blocked_in_callback(*queue);
    for (int signal = 1; signal < SIGRTMIN; ++signal) {
      if (signal == SIGKILL || signal == SIGSTOP) continue;
      EXPECT_EQ(sigismember(&blocked, signal), sigismember(&usr, signal)) << signal;
    }
  }
}

TEST(CallbackQueue, BlocksAllButFaultsForFunctionsOfOurs) {
  static base::NoDestructor<CallbackQueue> queue;
  const sigset_t blocked = blocked_in_callback(*queue);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF})
    EXPECT_EQ(sigismember(&blocked, signal), 1) << signal;
  for (const int signal : kFaults) EXPECT_EQ(sigismember(&blocked, signal), 0) << signal;
}

// A server reports as many errors as it likes, however long the program's callback takes.
TEST(CallbackQueue, WhatAServerMayCauseWithoutEndIsLost) {
  static base::NoDestructor<CallbackQueue> queue;  // its thread does not end
  static std::atomic<bool> goes_on{false};
  static std::atomic<unsigned> lossy{0};
  static std::atomic<unsigned> others{0};
  queue->post([] { goes_on.wait(false); });
  constexpr unsigned kMany = 1000;
  constexpr std::size_t kBytes = CallbackQueue::kMostWaiting / 8;
  testing::internal::CaptureStderr();
  for (unsigned i = 0; i < kMany; ++i) {
    queue->post_or_lose([] { ++lossy; }, i % 2 == 0 ? kBytes : 0);
    queue->post([] { ++others; });
  }
  const std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  goes_on = true;
  goes_on.notify_all();
  EXPECT_TRUE(kit::eventually([] { return others == kMany; })) << "these are not lost";
  EXPECT_GT(lossy, 8U);
  EXPECT_LT(lossy, 32U);
  queue->post_or_lose([] { lossy = kMany; }, kBytes);
  EXPECT_TRUE(kit::eventually([] { return lossy == kMany; })) << "there is room again";
}

}  // namespace
}  // namespace cleave::remote::client
