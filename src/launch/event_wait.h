// Waits for an event by polling its status between sleeps, which leaves the processor to others. Uses no callbacks
// and no user events, for which drivers spin a thread.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/opencl.h"

namespace cleave::launch {

enum class WaitResult : std::uint8_t {
  complete,
  failed,   // the command ended with an error
  stalled,  // the command has not begun to run within `patience`
  aborted,  // its status cannot be read, or `abort_pacing` was set
};

// Waits until the command of `event` has ended. There is no limit once it runs; before that the wait ends after
// `patience`, since the command may depend on the waiting thread itself. The wait is aborted as soon as
// `abort_pacing` (may be null) is not 0. How late the end is noticed: see poll_schedule.h.
// Requires: the command has been flushed.
WaitResult wait_for(const Table& next, base::Clock& clock, cl_event event, base::Nanoseconds patience,
                    const std::atomic<int>* abort_pacing = nullptr);

}  // namespace cleave::launch
