// When slices began and ended on their device, for the trace. Only for queues with profiling, which is the
// program's to switch on.
//
// Device and host have clocks of their own. What lies between them comes from clGetDeviceAndHostTimer where
// the device has it (OpenCL 2.1), asked once a second at most, and where it fits what the launch itself
// shows: its time QUEUED lies within the call that enqueued it. Elsewhere that alone is the measure, narrowed
// down from launch to launch.
//
// Thread-safe. The lock is not held while a driver is called.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/opencl.h"
#include "launch/event.h"
#include "observe/trace_events.h"

namespace cleave::interpose {

// One driver launch: a slice, or a launch that stayed whole.
struct ProfiledSlice {
  cl_device_id device = nullptr;
  cl_command_queue owner = nullptr;  // the program's queue
  cl_command_queue queue = nullptr;  // the one it is on: that, or a helper
  std::uint64_t launch = 0;          // the number of the program's launch
  std::size_t index = 0;
  const std::string* kernel = nullptr;  // its name; lives for ever
  base::Nanoseconds call_begin{0};      // of the call that enqueued it
  base::Nanoseconds call_end{0};
};

class DeviceTimes {
 public:
  DeviceTimes(const Table& next, base::Clock& clock) : next_(next), clock_(clock) {}
  DeviceTimes(const DeviceTimes&) = delete;
  DeviceTimes& operator=(const DeviceTimes&) = delete;

  // Whether one more slice of that queue can be kept: 4096 may be at a time.
  bool has_room(cl_command_queue owner) noexcept;

  // Keeps the slice until it has ended.
  void keep(const ProfiledSlice& slice, launch::Event event);

  // Says of all slices kept for that queue which have ended, and lets go of them.
  void collect(cl_command_queue owner, observe::TraceEvents& events);

  // The program has done with that queue: no event of it is kept any longer.
  void forget(cl_command_queue owner) noexcept;

  // Says when the slice ran. Requires: its event is sure to live. False if it has not ended, or the driver
  // does not tell.
  bool add_slice(const ProfiledSlice& slice, cl_event event, observe::TraceEvents& events);

  // How the program's queue is called in the trace.
  void name(cl_command_queue owner, std::string name);

  // For fork(). The child forgets all without asking the driver.
  std::mutex& lock() { return mutex_; }
  void reset() noexcept;

  // The next track of Cleave's own.
  observe::Track new_track() noexcept { return next_track_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Kept {
    ProfiledSlice slice;
    launch::Event event;
  };
  // What a queue's slices stand on: one track as long as they do not overlap.
  struct Lane {
    observe::Track track;
    base::Nanoseconds end{0};     // of the newest slice there, by the device's clock
    base::Nanoseconds mapped{0};  // and by the host's
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
    base::Nanoseconds least{0};  // by what launches show
    base::Nanoseconds most{0};
  };
  struct Mapped {
    base::Nanoseconds offset{0};
    const char* clock = "";
  };

  enum class Ended : std::uint8_t { yes, no, unknown };
  Ended ask(const ProfiledSlice& slice, cl_event event, observe::TraceEvents& events);
  void ask_timer(cl_device_id device);
  Mapped map(const ProfiledSlice& slice, base::Nanoseconds queued);
  Lane& lane_for(const ProfiledSlice& slice, base::Nanoseconds begin, observe::TraceEvents& events);

  const Table& next_;
  base::Clock& clock_;
  std::mutex mutex_;
  std::map<cl_command_queue, std::vector<Kept>> kept_;
  std::map<cl_command_queue, Lanes> lanes_;
  std::map<cl_device_id, Offset> offsets_;
  unsigned helpers_ = 0;  // that have lanes
  std::atomic<observe::Track> next_track_{observe::kOwnTracks};
};

}  // namespace cleave::interpose
