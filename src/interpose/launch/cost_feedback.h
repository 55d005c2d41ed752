// What launches are told by what was learnt (learn/cost_table.h), and where it is learnt from:
//
//   - profiling information of events, on queues for which the program itself asked for it: read when the
//     program reads it, or when it gives the event back
//   - host times (interpose/launch/launch_timers.h), on all others
//
// Profiling is never switched on for that. The policies `budget` and `quantum` use it; with any other nothing
// here does anything.
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/opencl.h"
#include "interpose/interposer.h"

namespace cleave::interpose {

// The answer for one launch.
struct LearnedDecision {
  std::size_t slices = 1;
  std::optional<plan::UnsplitReason> unsplit_reason;  // it stays whole for that reason
  learn::Key key = 0;                                 // what its time is to be reported for; 0: nothing
};

// What a kernel of that name and source goes by. The text is not kept.
std::uint64_t identity_of_kernel(const std::string& name, const ProgramRecord* program) noexcept;
// And a device with its driver.
std::uint64_t identity_of_driver(const Table& next, cl_device_id device) noexcept;

// How many slices a launch gets, whose local size is explicit; `fallback` where nothing is known of it.
LearnedDecision decide_from_costs(Interposer& p, const KernelRecord& kernel, const QueueRecord& queue,
                                  const plan::NDRange& range, std::size_t fallback) noexcept;

// A launch that has been enqueued.
struct Enqueued {
  cl_command_queue queue;
  bool profiling;  // the queue's
  bool waits;      // for events, and so perhaps for commands of other queues
  LaunchTimers::Start start;
  cl_event event;  // what the program got, or null
};

// It was enqueued in `ticket.slices`.
void note_launch(Interposer& p, const Enqueued& launch, const MeasuredLaunch& ticket) noexcept;

// The program reads the END of `event`, or is about to give its last reference back.
void record_event_time(Interposer& p, cl_event event) noexcept;

// The wait that began with `wait` is over; see LaunchTimers::waited.
void record_wait(Interposer& p, cl_command_queue queue, const LaunchTimers::Wait& wait,
                 cl_event event = nullptr) noexcept;

// A call is about to wait for all that is on `queue`, and then for its own command. If that is a launch to be
// timed, it is waited for first, where that makes no difference.
void finish_timed_launch(Interposer& p, cl_command_queue queue) noexcept;

// From and to the cache folder.
void load_costs(Interposer& p) noexcept;
void save_costs(Interposer& p) noexcept;

}  // namespace cleave::interpose
