// Launch times measured on the host, for policies that need them. A launch is timed if its queue was empty when it was
// enqueued, if nothing else was enqueued there until the program waited for it, and if that wait was long enough to
// cover the launch's end. No waits and no events are added for this. If most of the time was spent enqueueing, that is
// the cost of the launch, and the wait may be short.
//
// A queue counts as empty from the end of a wait that covers everything on it.
//
// Thread-safe. Each call takes one lock for some tens of nanoseconds; if no queue was ever added, one relaxed load.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/opencl.h"
#include "interpose/state/record_map.h"
#include "learn/cost_table.h"

namespace cleave::interpose {

// What a launch is measured for.
struct MeasuredLaunch {
  learn::Key key = 0;  // 0: not measured
  std::size_t slices = 1;
  base::Nanoseconds expected{0};  // how long it takes, by what was known when it was enqueued; 0: unknown
};

struct TimedLaunch {
  MeasuredLaunch launch;
  base::Nanoseconds time{0};
};

class LaunchTimers {
 public:
  explicit LaunchTimers(base::ForkLocks& forks) : queues_(forks, base::ForkOrder::launch_timers) {}

  // The beginning of a command.
  struct Start {
    std::uint64_t command = 0;
    bool idle = false;  // the queue is empty
    base::Nanoseconds time{0};
  };

  void add(cl_command_queue queue) { queues_.add(queue, {}); }
  void forget(cl_command_queue queue) { queues_.forget(queue); }
  [[nodiscard]] bool empty() const { return queues_.empty(); }

  // To be called for every command before it is enqueued.
  Start begin(cl_command_queue queue, base::Clock& clock) {
    return empty() ? Start{} : begin_timed(queue, clock);
  }

  // The command that began with `start` is a launch and has been enqueued. It is timed if the queue was empty.
  // `event` is the program's, or null.
  void launched(cl_command_queue queue, const Start& start, const MeasuredLaunch& measured, cl_event event,
                base::Clock& clock);

  // Whether a launch on `queue` would be timed if the program waited for it now.
  [[nodiscard]] bool is_timing(cl_command_queue queue) const;

  // Of the launch that would be timed if the program waited now, for everything on the queue or for `event`: how long it takes as a
  // whole, and from `now` on, as far as was known when it was enqueued; 0: unknown. Empty if there is none.
  struct Expected {
    base::Nanoseconds whole{0};
    base::Nanoseconds rest{0};
  };
  [[nodiscard]] std::optional<Expected> expected(cl_command_queue queue, base::Nanoseconds now,
                                                 cl_event event = nullptr) const;

  // A wait begins, for everything on the queue or for one event.
  struct Wait {
    std::uint64_t command = 0;
    base::Nanoseconds start{0};
  };
  Wait wait(cl_command_queue queue, base::Clock& clock) const;
  // The wait has ended: for everything on the queue or, if `event` is not null, for that event's command. Returns the
  // launch that ended, if one was timed.
  std::optional<TimedLaunch> end_wait(cl_command_queue queue, const Wait& wait, base::Clock& clock,
                                      cl_event event = nullptr);

  // The command that began with `start` was waited for within its call, and everything before it on the queue.
  void finish_command(cl_command_queue queue, const Start& start);

 private:
  struct Record {
    std::uint64_t command = 0;  // number of commands begun
    bool idle = true;           // everything enqueued has ended
    bool alone = false;         // the latest command is a launch that began on an empty queue
    MeasuredLaunch measured;
    base::Nanoseconds start{0};
    base::Nanoseconds enqueued{0};
    cl_event event = nullptr;
  };

  Start begin_timed(cl_command_queue queue, base::Clock& clock);

  RecordMap<Record> queues_;
};

}  // namespace cleave::interpose
