// How one launch is held back, and how what it takes is measured: alone on the device as far as this process knows (lone_pacer.h), or
// in a turn of this process (turn_pacer.h). The executor enqueues every launch by one of these.
//
// Not thread-safe: belongs to one launch.
#pragma once

#include <atomic>
#include <cstddef>
#include <pthread.h>
#include <span>

#include "base/clock.h"
#include "interpose/interposer.h"
#include "interpose/launch/call.h"
#include "interpose/launch/launch_plan.h"
#include "interpose/waits/wait.h"
#include "launch/launch.h"
#include "plan/mode.h"

namespace cleave::interpose {

class LaunchPacer : public launch::Pacer {
 public:
  // Of a launch that is made whole: waits until it may be enqueued.
  virtual void make_room() {}
  // Whether it should have an event although the program wants none.
  [[nodiscard]] virtual bool wants_event(const Call& /*call*/) { return false; }
  // It has been enqueued; `event` may be null.
  virtual void note_whole(const Call& call, cl_event event) = 0;

  // Of a launch in slices: the thread that is in the program's call.
  [[nodiscard]] virtual pthread_t thread() const { return pthread_self(); }
  // So many are to be enqueued by `method`, which this may change. Returns whether they are held back. `abort` may be null; if it is
  // not 0, another thread waits for the launch to return.
  virtual bool begin(plan::LaunchMethod& method, std::size_t slices, const std::atomic<int>* abort) = 0;
  // They have been enqueued, at least one. `event`: the program's; null if it wants none, or on an error.
  virtual void note_slices(const Call& call, const launch::LaunchResult& result, cl_event event) = 0;
  // How much of the time that this took, LaunchResult::added, the program has waited for its own slices.
  [[nodiscard]] virtual base::Nanoseconds own_part(base::Nanoseconds added) const { return added; }

  void flush_upstream(std::span<const cl_event> wait_list) noexcept override {
    for (const cl_event event : wait_list) {
      cl_command_queue queue = nullptr;
      p_.next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue),
                             static_cast<void*>(&queue), nullptr);
      if (queue != nullptr) flush_if_known(p_.next, p_.records.queues, queue);
    }
  }

 protected:
  // Both must outlive this.
  LaunchPacer(Interposer& p, const LaunchPlan& plan) : p_(p), plan_(plan) {}

  Interposer& p_;
  const LaunchPlan& plan_;
};

}  // namespace cleave::interpose
