// Settings of the calling thread for the length of a scope. The thread belongs to the program, so they
// are put back at the end.
#pragma once

#include <csignal>
#include <pthread.h>

#include <sys/prctl.h>

namespace cleave::base {

// Defers cancellation of the thread. Cancellation unwinds the stack, which must not happen through our frames:
// they bring a C++ runtime of their own.
class ScopedCancelDisable {
 public:
  ScopedCancelDisable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_); }
  ScopedCancelDisable(const ScopedCancelDisable&) = delete;
  ScopedCancelDisable& operator=(const ScopedCancelDisable&) = delete;
  ~ScopedCancelDisable() { pthread_setcancelstate(state_, nullptr); }

 private:
  int state_ = PTHREAD_CANCEL_ENABLE;
};

// What Cleave's threads block: the program's handlers expect to run on its own threads. Not the signals that a thread's own
// instructions raise: the system ends a process in which such a signal is blocked, whatever handler it has, and the program's may
// handle a fault (memory under the write barrier of a garbage collector) or emulate a system call (a filter's SECCOMP_RET_TRAP).
inline sigset_t asynchronous_signals() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, own);
  return signals;
}

// Blocks these signals, and leaves those blocked that the thread has blocked itself. A thread that is started meanwhile inherits that.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock() {
    const sigset_t blocked = asynchronous_signals();
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;
  ~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Makes the thread's sleeps end on time (timer slack of 1 ns), and defers cancellation in them.
class ScopedPreciseSleep {
 public:
  ScopedPreciseSleep() : slack_(prctl(PR_GET_TIMERSLACK)) {
    // 0 for a real-time thread, whose sleeps are exact anyway.
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, 1UL);
  }
  ScopedPreciseSleep(const ScopedPreciseSleep&) = delete;
  ScopedPreciseSleep& operator=(const ScopedPreciseSleep&) = delete;
  ~ScopedPreciseSleep() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
  }

 private:
  ScopedCancelDisable cancel_disable_;
  int slack_;
};

}  // namespace cleave::base
