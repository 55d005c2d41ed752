// Waiting for an event without burning a processor: look at its status, sleep, look again. No callbacks and
// no user events: drivers spin a thread for those.
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
  aborted,  // its status cannot be read, or haste was asked for
};

// Waits until the command of `event` has ended. Once it runs it is waited for without a limit; before that no
// longer than `patience`, since what it waits for may be the very thread that is waiting here. As soon as
// `abort_pacing` (may be null) is not 0, the wait is given up. The command must have been flushed. How late the
// end is noticed at most, schedule.h says.
WaitResult wait_for(const Table& next, base::Clock& clock, cl_event event, base::Nanoseconds patience,
                    const std::atomic<int>* abort_pacing = nullptr);

}  // namespace cleave::launch
