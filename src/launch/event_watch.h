// Watching events until their commands have ended, without burning a processor: look, sleep, look again. It
// stands before a wait of the driver's own, which then returns at once: errors, memory and order are the
// driver's affair.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/poll_schedule.h"

namespace cleave::launch {

struct WatchOptions {
  PollSchedule schedule;
  base::Nanoseconds start{0};  // of the whole wait, by `clock`
  // After so long the watch is given up; 0: never. For drivers of which it is not known yet that commands
  // come to an end while nobody waits for them.
  base::Nanoseconds patience{0};
  // As soon as it is true the watch is given up. May be null.
  const std::atomic<bool>* stop = nullptr;
  // Called now and then while the end does not come: to flush what may be in the way. May be empty.
  std::function<void()> on_delay;
};

struct WatchResult {
  bool complete = false;  // all of them. Otherwise one has failed, cannot be read, or patience ran out
  // The end came while this thread did nothing but sleep: the driver needs nobody to wait for it.
  bool ends_unwaited = false;
  base::Nanoseconds slept{0};
};

// Requires: the commands have been flushed. Returns when all have ended, or as soon as the driver's own wait
// may have something to say.
WatchResult watch(const Table& next, base::Clock& clock, std::span<const cl_event> events,
                  const WatchOptions& how);

}  // namespace cleave::launch
