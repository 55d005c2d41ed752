// Callbacks of the program, on a thread of ours.
#include "remote/client/objects/callback_queue.h"

#include <csignal>
#include <future>
#include <pthread.h>

#include <gtest/gtest.h>

#include "base/no_destructor.h"

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

}  // namespace
}  // namespace cleave::remote::client
