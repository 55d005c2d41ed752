// Collects the measured costs of launches, for the policies that use them:
//
//   - profiling times of events, on queues for which the program has enabled profiling: read when the program reads
//     them or releases the event;
//   - host times (launch_timers.h) on all other queues.
//
// Profiling is never enabled for this purpose. Launches without a key are not measured, so nothing is recorded under
// policies that do not measure.
//
// Thread-safe.
#pragma once

#include "base/clock.h"
#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "interpose/costs/launch_timers.h"
#include "interpose/state/record_map.h"
#include "interpose/state/records.h"
#include "learn/cost_table.h"

namespace cleave::interpose {

// A launch that has been enqueued.
struct Enqueued {
  cl_command_queue queue;
  bool profiling;  // of the queue
  bool waits;      // for events, and so perhaps for commands of other queues
  LaunchTimers::Start start;
  cl_event event;  // the program's, or null
};

class CostFeedback {
 public:
  // Everything must outlive this.
  CostFeedback(base::ForkLocks& forks, const Table& next, base::Clock& clock, LaunchTimers& timers,
               const ObjectRecords& records)
      : next_(next),
        clock_(clock),
        timers_(timers),
        records_(records),
        events_(forks, base::ForkOrder::measured_events),
        table_(forks) {}

  [[nodiscard]] learn::CostTable& table() { return table_; }
  [[nodiscard]] const learn::CostTable& table() const { return table_; }

  // The launch has been enqueued in `measured.slices` slices.
  void note_launch(const Enqueued& launch, const MeasuredLaunch& measured) noexcept;

  // The program has taken a reference to the event, or is about to release one.
  void event_retained(cl_event event) noexcept { events_.retain(event); }
  void event_released(cl_event event) noexcept;
  // The program has read the event's end time.
  void event_ended(cl_event event) noexcept;

  // The wait that began with `wait` has ended; see LaunchTimers::end_wait.
  void record_wait(cl_command_queue queue, const LaunchTimers::Wait& wait, cl_event event = nullptr) noexcept;

  // Load costs from, and save them to, the cache folder; nothing happens if its name is empty.
  void load(const std::string& folder) noexcept;
  void save(const std::string& folder) const noexcept;

 private:
  const Table& next_;
  base::Clock& clock_;
  LaunchTimers& timers_;
  const ObjectRecords& records_;
  RecordMap<MeasuredLaunch> events_;  // whose profiling times are measured
  learn::CostTable table_;
};

}  // namespace cleave::interpose
