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

// What threads of ours block: the program's handlers expect to run on its own threads. But not what a thread's own instructions
// raise, since the system ends a process in which that is blocked, whatever handler there is: the program's may mend a fault (memory
// under the write barrier of a garbage collector) or make a system call itself (a filter's SECCOMP_RET_TRAP).
inline sigset_t signals_of_others() {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, own);
  return signals;
}

// Blocks these signals. A thread that is started meanwhile inherits that.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock() {
    const sigset_t blocked = signals_of_others();
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
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
