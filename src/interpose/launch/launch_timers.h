// Times of launches as the host sees them, for the policies that learn. A launch is timed if nothing else was
// on its queue when it was enqueued, nothing was enqueued there until the program waited for it, and that
// wait lasted long enough to have seen its end. Nothing is waited for, and no event is made, for the sake of
// that. Where most of the time went into enqueueing, that is what the launch costs, and the wait need not
// have seen anything.
//
// A queue counts as empty from the end of a wait that covers all that is on it.
//
// Thread-safe. Each call takes one lock for some tens of nanoseconds; where no queue was ever added, it costs
// one relaxed load.
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
  learn::Key key = 0;  // 0: nothing
  std::size_t slices = 1;
};

struct TimedLaunch {
  MeasuredLaunch ticket;
  base::Nanoseconds time{0};
};

class LaunchTimers {
 public:
  // A command is about to be enqueued.
  struct Start {
    std::uint64_t command = 0;
    bool idle = false;  // nothing else is on the queue
    base::Nanoseconds time{0};
  };

  void add(cl_command_queue queue) { queues_.add(queue, {}); }
  void forget(cl_command_queue queue) { queues_.forget(queue); }
  [[nodiscard]] bool empty() const { return queues_.empty(); }

  // Every command on a queue begins with this.
  Start begin(cl_command_queue queue, base::Clock& clock);

  // The command that began with `start` is a launch, has been enqueued, and is all there is on the queue if
  // that was idle. `event` is the program's, or null.
  void launched(cl_command_queue queue, const Start& start, const MeasuredLaunch& ticket, cl_event event,
                base::Clock& clock);

  // A launch is under way on `queue` that will be timed if the program waits for it now.
  [[nodiscard]] bool is_timing(cl_command_queue queue) const;

  // A wait that begins now. `event`: for nothing else than that.
  struct Wait {
    std::uint64_t command = 0;
    base::Nanoseconds start{0};
  };
  Wait wait(cl_command_queue queue, base::Clock& clock) const;
  // That wait is over: everything on the queue has ended, or, if `event` is not null, what that stands for.
  // Returns the launch whose end it was, if it was one's.
  std::optional<TimedLaunch> end_wait(cl_command_queue queue, const Wait& wait, base::Clock& clock,
                                      cl_event event = nullptr);

  // A command that began with `start` was waited for within its call, and all that was on the queue with it.
  void finish_command(cl_command_queue queue, const Start& start);

  // For fork(): no other thread is inside between these two. The child's launches are timed anew.
  void lock_all() { queues_.lock_all(); }
  void unlock_all() { queues_.unlock_all(); }

 private:
  struct Record {
    std::uint64_t command = 0;  // commands begun
    bool idle = true;           // all that was enqueued has ended
    bool alone = false;         // the last command is a launch that began on an idle queue
    MeasuredLaunch ticket;
    base::Nanoseconds start{0};
    base::Nanoseconds enqueued{0};
    cl_event event = nullptr;
  };

  RecordMap<Record> queues_;
};

}  // namespace cleave::interpose
