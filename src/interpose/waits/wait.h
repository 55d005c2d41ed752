// One wait of the program's, made polite where that is wanted and safe. Cleave watches what lies before the
// wait's end, and then the driver's own call is made after all: results, errors, events and what the
// program's memory holds are always the driver's own, and the call returns at once.
//
//   if (!may_sleep(p, queue)) return p.next.clFinish(queue);
//   Wait wait(p, queue, WaitKind::finish);
//   if (wait.sleeping()) wait.watch_queue();
//   const cl_int error = p.next.clFinish(queue);
//   wait.end();
//
// Whatever goes wrong on the way, the watch is given up and the driver's call is the wait, as natively. No
// gate and no lock is held while it sleeps.
//
// Not thread-safe: lives in one call.
#pragma once

#include <optional>
#include <span>

#include "base/scoped_thread_state.h"
#include "interpose/interposer.h"
#include "launch/event.h"

namespace cleave::interpose {

class Wait {
 public:
  // Where no wait can become polite, nothing comes of it.
  Wait(Interposer& p, cl_command_queue queue, WaitKind kind) noexcept;

  [[nodiscard]] bool sleeping() const { return sleeping_; }

  // Watches all that is on the queue by now, and the wait list of a command that comes next. On a queue that
  // keeps no order, such a command waits for nothing but its list.
  void watch_queue(std::span<const cl_event> list = {}) noexcept;
  void watch_list(std::span<const cl_event> list) noexcept;

  // For the trace, once the wait is over.
  [[nodiscard]] WaitInfo how() const { return {watched_.has_value(), slept_}; }

  // The driver's own call has returned. What it took is remembered.
  void end() noexcept;

 private:
  bool watch(std::span<const cl_event> events) noexcept;
  bool mark() noexcept;

  base::ScopedCancelDisable uncancelled_;
  Interposer& p_;
  const cl_command_queue queue_;
  const WaitKind kind_;
  WaitHistory* history_ = nullptr;
  DriverWaits* driver_ = nullptr;  // null: nothing is to be learnt from this wait
  bool in_order_ = true;
  bool sleeping_ = false;
  launch::Event marker_;  // until the driver's call is over: some drivers mind one that fails without holders
  base::Nanoseconds start_{0};
  base::Nanoseconds processor_{0};            // this thread's time at the start, where that is of interest
  std::optional<base::Nanoseconds> watched_;  // how long the watch took
  base::Nanoseconds slept_{0};
};

// Whether a wait of this thread may become polite at all: a few loads where the settings or the neighbours
// say no. The second also asks whether the queue's driver is left alone. Where the answer is no, the wait is
// to be handed on by a plain jump, so that it is not even seen by what unwinds a cancelled thread.
bool may_sleep(Interposer& p) noexcept;
bool may_sleep(Interposer& p, cl_command_queue queue) noexcept;

// A driver may name a queue that is gone, so only one that the program still holds is flushed; another thread
// may release it meanwhile. No lock is held.
bool flush_if_known(Interposer& p, cl_command_queue queue) noexcept;

// The queue of the first event that has one.
cl_command_queue queue_of(const Table& next, std::span<const cl_event> events) noexcept;

}  // namespace cleave::interpose
