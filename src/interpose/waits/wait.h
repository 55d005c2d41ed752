// One wait of the program, done by sleeping if that is wanted and safe. Cleave polls the commands that the wait is for,
// and then the driver's own call is made after all: results, errors, events and the program's memory come from the
// driver, and its call returns at once.
//
//   if (!may_sleep(context, queue)) return next.clFinish(queue);
//   Wait wait(context, queue, WaitKind::finish);
//   if (wait.sleeping()) wait.watch_queue();
//   const cl_int error = next.clFinish(queue);
//   wait.end();
//
// If anything goes wrong, polling ends and the driver's call does the waiting, as natively. No gate and no lock is held
// while it sleeps.
//
// Not thread-safe: belongs to one call.
#pragma once

#include <optional>
#include <span>

#include "base/settings/settings.h"
#include "base/threads/scoped_thread_state.h"
#include "interpose/costs/launch_timers.h"
#include "interpose/state/records.h"
#include "interpose/state/split_owner.h"
#include "interpose/waits/wait_statistics.h"
#include "launch/event.h"
#include "neighbours/neighbours.h"

namespace cleave::interpose {

// What waits depend on. Everything must outlive its users.
struct WaitContext {
  const Table& next;
  Devices& devices;
  base::Clock& clock;
  const base::WaitMode mode;
  neighbours::Neighbours& neighbours;
  const LaunchTimers& timers;
  ObjectRecords& records;
  SplitOwner& owner;
  WaitStatistics& statistics;
};

class Wait {
 public:
  // Decides whether this wait sleeps. `event`: the only one that it is for, if it is for events.
  Wait(const WaitContext& context, cl_command_queue queue, WaitKind kind, cl_event event = nullptr) noexcept;

  [[nodiscard]] bool sleeping() const { return sleeping_; }

  // Polls all commands of the queue, and the wait list of a command that comes next. On an out-of-order queue that
  // command waits only for its list.
  void watch_queue(std::span<const cl_event> list = {}) noexcept;
  void watch_list(std::span<const cl_event> list) noexcept;

  // For the trace, after end().
  [[nodiscard]] WaitInfo how() const { return {watched_.has_value(), slept_}; }

  // The driver's own call has returned. Records its duration.
  void end() noexcept;

 private:
  void decide(cl_event event) noexcept;
  bool watch(std::span<const cl_event> events) noexcept;
  bool mark() noexcept;

  base::ScopedCancelDisable uncancelled_;
  const WaitContext& context_;
  const cl_command_queue queue_;
  const WaitKind kind_;
  WaitHistory* history_ = nullptr;
  DriverWaits* driver_ = nullptr;  // null: this wait is not recorded
  bool in_order_ = true;
  bool sleeping_ = false;
  base::Nanoseconds predicted_{0};  // how long this wait takes; 0: unknown
  // Kept until the driver's call returns: some drivers crash if a marker without references fails.
  launch::Event marker_;
  base::Nanoseconds start_{0};
  std::optional<base::Nanoseconds> processor_;  // this thread's processor time at the start, if measured
  std::optional<base::Nanoseconds> watched_;    // how long it polled
  base::Nanoseconds slept_{0};
};

// Whether a wait of this thread may sleep at all: a few loads if the settings or the neighbours say no. The second also
// checks the queue's driver. If the answer is no, the caller should forward the wait by a tail call, so that our frame
// is not on the stack if the thread is cancelled.
bool may_sleep(const WaitContext& context) noexcept;
bool may_sleep(const WaitContext& context, cl_command_queue queue) noexcept;

// Flushes a queue if the program still holds it: drivers may name released queues. Another thread may release it
// meanwhile. Takes no lock during the call.
bool flush_if_known(const Table& next, RecordMap<QueueRecord>& queues, cl_command_queue queue) noexcept;

// The queue of the first event that has one.
cl_command_queue queue_of(const Table& next, std::span<const cl_event> events) noexcept;

}  // namespace cleave::interpose
