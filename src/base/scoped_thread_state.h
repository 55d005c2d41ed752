// How a thread of the program's waits inside a call of ours. Both are put back as they were at the end of
// their scope.
#pragma once

#include <pthread.h>

#include <sys/prctl.h>

namespace cleave::base {

// The thread is not cancelled: what is cancelled is unwound, and that must not go through our frames (they
// bring a C++ runtime of their own). Later, outside, it is.
class ScopedCancelDisable {
 public:
  ScopedCancelDisable() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_); }
  ScopedCancelDisable(const ScopedCancelDisable&) = delete;
  ScopedCancelDisable& operator=(const ScopedCancelDisable&) = delete;
  ~ScopedCancelDisable() { pthread_setcancelstate(state_, nullptr); }

 private:
  int state_ = PTHREAD_CANCEL_ENABLE;
};

// Nor is it cancelled in its sleeps, and they end on time.
class ScopedPreciseSleep {
 public:
  ScopedPreciseSleep() : slack_(prctl(PR_GET_TIMERSLACK)) {
    // 0 is a real-time thread's, whose sleeps are exact anyway.
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, 1UL);
  }
  ScopedPreciseSleep(const ScopedPreciseSleep&) = delete;
  ScopedPreciseSleep& operator=(const ScopedPreciseSleep&) = delete;
  ~ScopedPreciseSleep() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
  }

 private:
  ScopedCancelDisable uncancelled_;
  int slack_;
};

}  // namespace cleave::base
