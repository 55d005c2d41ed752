// Pauses a long launch now and then, so that other threads can call the driver. While one thread enqueues slices, the
// others wait for the driver's lock, possibly until all slices are enqueued: on an NVIDIA H200 4 ms for 640 slices
// that run for 41 ms (docs/measurements.md). It pauses only if the device has enough work queued not to become idle.
//
// Not thread-safe: belongs to one launch.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/clock.h"
#include "launch/event.h"

namespace cleave::launch {

class EnqueueThrottle {
 public:
  // `slices`: of the whole launch. `next` and `clock` must outlive this.
  EnqueueThrottle(const Table& next, base::Clock& clock, std::size_t slices)
      : next_(next), clock_(clock), slices_(slices) {}

  // Whether slice `i`, from 0, needs an event that is then passed to after().
  [[nodiscard]] bool wants_event(std::size_t i) const {
    return i % kSlices == kSlices - 1 && i + kSlices < slices_;
  }

  // Slice `i` has just been enqueued. Pauses if the slice kSlices before it has not ended: that many slices take
  // several times as long as the pause, since no launch takes less than some microseconds.
  void after(cl_event slice) {
    if (is_pending(mark_.get())) clock_.sleep_for(kPause);
    mark_ = next_.clRetainEvent(slice) == CL_SUCCESS ? Event(next_, slice) : Event();
  }

 private:
  static constexpr std::size_t kSlices = 32;
  static constexpr std::chrono::microseconds kPause{60};

  [[nodiscard]] bool is_pending(cl_event event) const {
    cl_int status = CL_COMPLETE;
    return event != nullptr &&
           next_.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) ==
               CL_SUCCESS &&
           status > CL_COMPLETE;
  }

  const Table& next_;
  base::Clock& clock_;
  std::size_t slices_;
  Event mark_;
};

}  // namespace cleave::launch
