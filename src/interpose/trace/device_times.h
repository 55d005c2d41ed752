// When slices began and ended on their device, for the trace. Only for queues on which the program has enabled
// profiling.
//
// Device and host have separate clocks. Their offset comes from clGetDeviceAndHostTimer if the device has it (OpenCL
// 2.1), queried at most once a second, provided that it is consistent with the launch itself: its time QUEUED lies
// within the call that enqueued it, which narrows it. Otherwise that bound alone is used, narrowed from launch to launch.
//
// Thread-safe. The lock is not held while a driver is called.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/drivers/devices.h"
#include "launch/event.h"
#include "observe/trace_events.h"

namespace cleave::interpose {

// One driver launch: a slice or an unsplit launch.
struct ProfiledSlice {
  cl_device_id device = nullptr;
  cl_command_queue owner = nullptr;  // the program's queue
  cl_command_queue queue = nullptr;  // where it runs: that queue or a helper
  std::uint64_t launch = 0;          // the number of the program's launch
  std::size_t index = 0;
  const std::string* kernel = nullptr;  // its name; never freed
  base::Nanoseconds call_begin{0};      // of the call that enqueued it
  base::Nanoseconds call_end{0};
};

class DeviceTimes {
 public:
  DeviceTimes(base::ForkLocks& forks, const Table& next, Devices& devices, base::Clock& clock)
      : next_(next), devices_(devices), clock_(clock) {
    forks.add<&DeviceTimes::reset_in_child>(base::ForkOrder::device_times, mutex_, *this);
  }
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  // Whether another slice of that queue can be kept, of at most 4096.
  bool has_room(cl_command_queue owner) noexcept;

  // Keeps the slice until it has ended.
  void keep(const ProfiledSlice& slice, launch::Event event);

  // Adds the slices of that queue that have ended to `events` and forgets them.
  void collect(cl_command_queue owner, observe::TraceEvents& events);

  // Forgets that queue and releases its events.
  void forget(cl_command_queue owner) noexcept;

  // Adds the slice's times to `events`. Returns false if it has not ended or has no profiling times. Requires: the
  // event stays alive meanwhile.
  bool add_slice(const ProfiledSlice& slice, cl_event event, observe::TraceEvents& events);

  // Sets the name of the program's queue in the trace.
  void name(cl_command_queue owner, std::string name);

  // A new track of our own.
  observe::Track new_track() noexcept { return next_track_.fetch_add(1, std::memory_order_relaxed); }

 private:
  // The child of a fork forgets everything without calling the driver.
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  struct Kept {
    ProfiledSlice slice;
    launch::Event event;
  };
  // A track for the slices of a queue, as long as they do not overlap.
  struct Lane {
    observe::Track track;
    base::Nanoseconds end{0};     // of the newest slice, device clock
    base::Nanoseconds mapped{0};  // the same, host clock
  };
  struct Lanes {
    std::string name;
    std::vector<Lane> lanes;
  };
  // Host time = device time + offset.
  struct Offset {
    bool asked = false;
    bool has_timer = false;
    base::Nanoseconds timer{0};
    base::Nanoseconds asked_at{0};
    bool known = false;
    base::Nanoseconds least{0};  // bounds from launches
    base::Nanoseconds most{0};
  };
  struct Mapped {
    base::Nanoseconds offset{0};
    const char* clock = "";
  };

  enum class Ended : std::uint8_t { yes, no, unknown };
  Ended ask(const ProfiledSlice& slice, cl_event event, observe::TraceEvents& events);
  void ask_timer(cl_device_id device);
  Mapped map(const ProfiledSlice& slice, base::Nanoseconds queued) CLEAVE_REQUIRES(mutex_);
  Lane& lane_for(const ProfiledSlice& slice, base::Nanoseconds begin, observe::TraceEvents& events)
      CLEAVE_REQUIRES(mutex_);

  const Table& next_;
  Devices& devices_;
  base::Clock& clock_;
  base::Mutex mutex_;
  std::map<cl_command_queue, std::vector<Kept>> kept_ CLEAVE_GUARDED_BY(mutex_);
  std::map<cl_command_queue, Lanes> lanes_ CLEAVE_GUARDED_BY(mutex_);
  std::map<cl_device_id, Offset> offsets_ CLEAVE_GUARDED_BY(mutex_);
  unsigned helpers_ CLEAVE_GUARDED_BY(mutex_) = 0;  // helper queues with lanes
  std::atomic<observe::Track> next_track_{observe::kOwnTracks};
};

}  // namespace cleave::interpose
