// Waits for an event by polling its status between sleeps, which leaves the processor to others. Uses no callbacks
// and no user events, for which drivers spin a thread.
//
// Thread-safe.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/launch.h"

namespace cleave::interpose {

// Waits until the command of `event` has ended. There is no limit once it runs; before that the wait ends after
// `stall_timeout`, since the command may depend on the waiting thread itself. The wait is aborted as soon as
// `abort_pacing` (may be null) is not 0. How late the end is noticed: see poll_schedule.h.
// Requires: the command has been flushed.
launch::WaitResult wait_for(const Table& next, base::Clock& clock, cl_event event,
                            base::Nanoseconds stall_timeout, const std::atomic<int>* abort_pacing = nullptr);

}  // namespace cleave::interpose
