// Polls events between sleeps until their commands have ended. Used before the driver's own wait, which then returns
// at once and remains responsible for errors, memory and order.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <span>

#include "base/clock.h"
#include "base/opencl.h"
#include "interpose/polling/poll_schedule.h"

namespace cleave::interpose {

struct WatchOptions {
  PollSchedule schedule;
  base::Nanoseconds start{0};  // of the whole wait, by `clock`
  // The watch ends after this time; 0: no limit. For drivers of which it is not known yet whether commands end while
  // no thread is in one of their waits.
  base::Nanoseconds stall_timeout{0};
  // The watch ends as soon as this is true. May be null.
  const std::atomic<bool>* stop = nullptr;
  // Called now and then while the end does not come, to flush queues that may block it. May be empty.
  std::function<void()> on_delay;
};

struct WatchResult {
  bool complete = false;  // all commands. Otherwise one has failed, cannot be read, or the watch ended early
  // A command ended while this thread only slept: the driver makes progress without a waiting thread.
  bool ends_unwaited = false;
  base::Nanoseconds slept{0};
};

// Returns when all commands have ended, or as soon as the driver's own wait may have an error to report.
// Requires: the commands have been flushed.
WatchResult watch_events(const Table& next, base::Clock& clock, std::span<const cl_event> events,
                         const WatchOptions& how);

}  // namespace cleave::interpose
