// For the length of a scope in which this thread sleeps inside a call of the program's: sleeps end on time,
// and the thread is not cancelled in them, since the call may be one that natively never is. Both are put
// back as they were.
#pragma once

#include <pthread.h>

#include <sys/prctl.h>

namespace cleave::base {

class Undisturbed {
 public:
  Undisturbed() : slack_(prctl(PR_GET_TIMERSLACK)) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
    // 0 is a real-time thread's, whose sleeps are exact anyway.
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, 1UL);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  ~Undisturbed() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
    pthread_setcancelstate(cancel_state_, nullptr);
  }

 private:
  int slack_;
  int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace cleave::base
