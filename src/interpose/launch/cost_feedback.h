// Decides on the number of slices from measured costs (learn/cost_table.h), and collects the measurements:
//
//   - profiling times of events, on queues for which the program has enabled profiling: read when the program reads
//     them or releases the event;
//   - host times (launch_timers.h) on all other queues.
//
// Profiling is never enabled for this purpose. Used by the policies `budget` and `quantum`; inactive with the others.
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/opencl.h"
#include "interpose/interposer.h"

namespace cleave::interpose {

// The decision for one launch.
struct LearnedDecision {
  std::size_t slices = 1;
  std::optional<plan::UnsplitReason> unsplit_reason;
  learn::Key key = 0;  // the key under which its time is recorded; 0: none
};

// A hash of a kernel's name and source. The text is not kept.
std::uint64_t identity_of_kernel(const std::string& name, const ProgramRecord* program) noexcept;
// A hash of a device and its driver.
std::uint64_t identity_of_driver(const Table& next, cl_device_id device) noexcept;

// How many slices a launch gets; `fallback` if nothing is known of it. Requires: its local size is explicit.
LearnedDecision decide_from_costs(Interposer& p, const KernelRecord& kernel, const QueueRecord& queue,
                                  const plan::NDRange& range, std::size_t fallback) noexcept;

// A launch that has been enqueued.
struct Enqueued {
  cl_command_queue queue;
  bool profiling;  // of the queue
  bool waits;      // for events, and so perhaps for commands of other queues
  LaunchTimers::Start start;
  cl_event event;  // the program's, or null
};

// The launch has been enqueued in `ticket.slices` slices.
void note_launch(Interposer& p, const Enqueued& launch, const MeasuredLaunch& ticket) noexcept;

// The program reads the end time of `event`, or is about to release its last reference.
void record_event_time(Interposer& p, cl_event event) noexcept;

// The wait that began with `wait` has ended; see LaunchTimers::end_wait.
void record_wait(Interposer& p, cl_command_queue queue, const LaunchTimers::Wait& wait,
                 cl_event event = nullptr) noexcept;

// For a call that is about to wait for everything on `queue` and then for its own command. If a launch on it is timed,
// waits for that first, provided that the program cannot tell.
void finish_timed_launch(Interposer& p, cl_command_queue queue) noexcept;

// Load costs from, and save them to, the cache folder.
void load_costs(Interposer& p) noexcept;
void save_costs(Interposer& p) noexcept;

}  // namespace cleave::interpose
