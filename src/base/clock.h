// Time, as everything in Cleave that waits or measures sees it. One interface, so that tests run on virtual
// time.
//
// Thread-safe: all functions may be called from any thread.
#pragma once

#include <chrono>

namespace cleave::base {

using Nanoseconds = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic time since an arbitrary start.
  virtual Nanoseconds now() = 0;

  // Returns no earlier than `duration` from now. The thread gives its processor back meanwhile.
  virtual void sleep_for(Nanoseconds duration) = 0;

  // Processor time that the calling thread has used so far.
  virtual Nanoseconds thread_time() = 0;

  // The machine's own monotonic clock. Lives for ever.
  static Clock& system();
};

}  // namespace cleave::base
