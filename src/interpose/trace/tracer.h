// Traces launches, slices and waits as events of observe/trace_events.h. docs/trace.md defines the events.
//
// Each launch in progress has a LaunchTrace on its stack. It sees slices through a table in which
// clEnqueueNDRangeKernel is ours, so src/launch does not know of it. References to the program's events are not kept;
// their records end with the program's last reference. On queues with profiling, references to the slices' events are
// kept until these have ended or their queue is released (device_times.h).
//
// Thread-safe. No lock is held while a driver is called. Nothing throws; events are dropped if memory runs out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/settings/configuration.h"
#include "base/text/json.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/state/records.h"
#include "interpose/state/split_owner.h"
#include "interpose/trace/device_times.h"
#include "interpose/waits/wait_statistics.h"
#include "neighbours/neighbours.h"
#include "observe/counters.h"
#include "observe/trace_writer.h"
#include "plan/mode.h"

namespace cleave::interpose {

// An event of the program that stands for a launch.
struct TracedEvent {
  cl_command_queue queue = nullptr;
  std::uint64_t number = 0;  // of the launch on that queue
  bool profiled = false;
  bool written = false;  // its times are in the trace
  ProfiledSlice slice;
};

// A wait in progress. Needs no destructor: the thread may be cancelled during the wait.
struct WaitTrace {
  bool active = false;
  cl_command_queue queue = nullptr;
  std::uint64_t newest = 0;  // the newest launch on that queue when the wait began
};

// A part of this process's turns on a device (src/interpose/turns).
struct TurnSpan {
  enum class What : std::uint8_t { wait, hold };
  What what = What::wait;
  base::Nanoseconds begin{0};
  base::Nanoseconds end{0};
  std::uint64_t launch = 0;     // for which the device was requested; 0: unknown
  const char* ended = nullptr;  // of `hold`: why
};

// What the tracer reads. Everything must outlive the tracer.
struct TraceSources {
  base::ForkLocks& forks;
  const Table& next;
  Devices& devices;
  base::Clock& clock;
  const base::Configuration& configuration;
  const std::string& face;
  const neighbours::Neighbours& neighbours;
  const observe::KernelCounters& unknown_kernel;
  ObjectRecords& records;
  SplitOwner& owner;
};

class Tracer {
 public:
  explicit Tracer(const TraceSources& sources);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // The program begins to wait for a queue, or (null) for events.
  WaitTrace wait_begins(const char* function, cl_command_queue queue) noexcept;
  // The wait has ended: for everything that was on the queue when it began or, if `all` is false, for a later command,
  // which means the same on an in-order queue.
  void wait_ends(const WaitTrace& wait, const WaitInfo& how, cl_int error, bool all) noexcept;
  // The same for a wait for events.
  void wait_ends(const WaitTrace& wait, const WaitInfo& how, cl_int error,
                 std::span<const cl_event> events) noexcept;

  // The program has taken a reference, or is about to release one.
  void event_retained(cl_event event) noexcept { events_.retain(event); }
  void event_released(cl_event event) noexcept;
  // The program has learned that the event's command has ended.
  void event_ended(cl_event event) noexcept;
  // The program is about to release its last reference to the queue.
  void queue_released(cl_command_queue queue) noexcept;

  // Adds a span to the row of turns on a device, which `row` stands for.
  struct TurnDevice {
    const std::string& name;
    const std::string& identity;  // on this host; empty: unknown
  };
  void add_turn(const void* row, const TurnDevice& device, const TurnSpan& span) noexcept;
  // The number of the launch that the calling thread is making; 0: none.
  [[nodiscard]] static std::uint64_t launch_in_progress() noexcept;

  // The file, for events of the face above.
  [[nodiscard]] observe::TraceWriter& file() { return trace_; }
  // The calling thread's launches are made for the client's command of this number; 0: for none.
  static void set_command(std::uint64_t number) noexcept { command_ = number; }

  // The process exits. `without_events`: there is to be a file even if nothing was traced.
  void end(bool without_events = false) noexcept;

 private:
  friend class LaunchTrace;

  // The child's file has no queues yet.
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  // A queue of the program.
  struct Queue {
    unsigned number = 0;
    observe::Track track = 0;
    bool in_order = true;
    bool profiling = false;
    cl_device_id device = nullptr;
    std::uint64_t newest = 0;  // launch on it
    std::uint64_t seen = 0;    // the newest launch that is known to have ended
    // When the first launch after `seen` was enqueued, or `seen` was found to have ended, whichever is later.
    base::Nanoseconds since{0};
  };

  std::optional<Queue> find(cl_command_queue queue) noexcept;
  std::optional<Queue> find_or_ask(cl_command_queue queue) noexcept;
  std::string describe(const Queue& queue) const;
  std::uint64_t note_launch(cl_command_queue queue, base::Nanoseconds begin) noexcept;
  void note_seen(cl_command_queue queue, std::uint64_t number, base::Nanoseconds time,
                 observe::TraceEvents& events);
  void note_vms(base::Nanoseconds time, observe::TraceEvents& events);
  void add_event(cl_event event, observe::TraceEvents& events);
  void write(const observe::TraceEvents& events) noexcept;

  static constinit inline thread_local std::uint64_t command_ = 0;

  const TraceSources from_;
  Table table_;  // the driver's, except that launches are traced
  observe::TraceWriter trace_;
  DeviceTimes times_;
  std::string policy_;
  RecordMap<TracedEvent> events_;
  base::Mutex mutex_;
  std::map<cl_command_queue, Queue> queues_ CLEAVE_GUARDED_BY(mutex_);
  std::map<const void*, observe::Track> turn_rows_ CLEAVE_GUARDED_BY(mutex_);
  unsigned count_ CLEAVE_GUARDED_BY(mutex_) = 0;  // queues so far
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<unsigned> vms_{0};  // the latest value in the trace
};

// One launch of the program, for the duration of its call. Not thread-safe.
class LaunchTrace {
 public:
  struct Call {
    const char* function;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_uint dims;
    const size_t* global;
    const size_t* local;
  };
  LaunchTrace(Tracer& tracer, const Call& call) noexcept;
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;
  ~LaunchTrace();

  // The table to call the driver with.
  [[nodiscard]] const Table& table() const { return tracer_.table_; }

  // The decision.
  void unsplit_reason(plan::UnsplitReason why) noexcept;
  void split(std::size_t slices, const plan::LaunchMethod& method) noexcept;
  // From now on each slice is waited for before the next.
  void paced() noexcept { paced_ = true; }

  // The call is about to return; `event` is the program's, or null.
  void end(cl_int error, cl_event event) noexcept;

 private:
  struct Slice {
    cl_command_queue queue = nullptr;
    base::Nanoseconds begin{0};
    base::Nanoseconds end{0};
    std::array<size_t, 3> offset{};
    std::array<size_t, 3> size{};
    cl_uint dims = 0;
  };
  // Called by src/launch in place of the driver's function.
  static cl_int CL_API_CALL enqueue(cl_command_queue, cl_kernel, cl_uint dims, const size_t* offset,
                                    const size_t* global, const size_t* local, cl_uint waits,
                                    const cl_event* wait_list, cl_event* event);
  friend class Tracer;

  bool wants_events() const noexcept;
  void note(const Slice& slice, launch::Event event) noexcept;
  void add_slice(const Slice& slice, std::size_t index);
  void keep(cl_event programs, std::uint64_t number);
  [[nodiscard]] const std::string& kernel_name() const;
  void add_launch(base::Nanoseconds now, cl_int error);

  static constinit inline thread_local LaunchTrace* current_ = nullptr;

  Tracer& tracer_;
  LaunchTrace* const outer_;  // a driver may call the program back from within a launch
  const Call call_;
  const base::Nanoseconds begin_;
  const unsigned vms_;
  const std::uint64_t number_;  // among all launches
  std::optional<Tracer::Queue> queue_;
  observe::TraceEvents events_;
  base::JsonObject decision_;
  std::size_t noted_ = 0;  // driver launches
  std::optional<Slice> first_;
  base::Nanoseconds last_end_{0};
  bool split_ = false;
  bool paced_ = false;
  struct Held {
    ProfiledSlice slice;
    launch::Event event;
  };
  std::vector<Held> held_;
};

}  // namespace cleave::interpose
