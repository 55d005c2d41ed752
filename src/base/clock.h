// The clock of everything in Cleave that waits or measures; an interface, so that tests run on virtual time.
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

  // Blocks the thread for at least `duration`, without using its processor.
  virtual void sleep_for(Nanoseconds duration) = 0;

  // Lets a moment pass in which the thread keeps its processor: for waits that must end at once.
  virtual void spin() = 0;

  // CPU time used by the calling thread so far.
  virtual Nanoseconds thread_time() = 0;

  // The system's monotonic clock. Never destroyed.
  static Clock& system();
};

}  // namespace cleave::base
