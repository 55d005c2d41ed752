// Waits for commands of this process in its turns, by polling between sleeps. Uses no callbacks and no user events.
//
// Thread-safe. No lock may be held.
#pragma once

#include <atomic>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/launch.h"
#include "turns/state.h"

namespace cleave::interpose {

inline constexpr turns::Ns kMillisecond = 1'000'000;
// How often an end is looked for: not more often than that, and then with pauses of a share of the time waited.
inline constexpr turns::Ns kShortestSleep = 15'000;
inline constexpr int kShareOfWait = 12;
// How many times as long as expected a command may take.
inline constexpr int kTimesExpected = 4;
// How long before its expected end a command is first checked, at most, when short launches follow each other: sleeps
// end about that late.
inline constexpr turns::Ns kEarlyLaunch = 100'000;

struct Awaited {
  launch::WaitResult how;
  turns::Ns running_at = 0;  // when it was last seen not to have ended; 0: never
};

// Whether the command has ended, or its state can no longer be queried.
[[nodiscard]] bool has_ended(const Table& next, cl_event event) noexcept;

// Waits for the command's end, which is expected at `expected_end` and first looked for `early` before. Stalls when it takes much
// longer: it may depend on the program, which waits here. Ends as soon as `abort` (may be null) is not 0.
[[nodiscard]] Awaited await_command(const Table& next, base::Clock& clock, cl_event event,
                                    turns::Ns expected_end, turns::Ns early, const std::atomic<int>* abort);

}  // namespace cleave::interpose
