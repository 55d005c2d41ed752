// Owns one reference to an OpenCL event.
#pragma once

#include <utility>

#include "base/opencl.h"

namespace cleave::launch {

class Event {
 public:
  Event() = default;
  // Takes over a reference that the caller owns. `event` may be null; `next` must outlive this.
  Event(const Table& next, cl_event event) : next_(&next), event_(event) {}
  Event(Event&& other) noexcept : next_(other.next_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(next_, other.next_);
    std::swap(event_, other.event_);
    return *this;
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() {
    if (event_ != nullptr) next_->clReleaseEvent(event_);
  }

  [[nodiscard]] cl_event get() const { return event_; }

  // The same as assigning Event(next, event), by less work: launches in slices do so for each. Requires: `next` is that of the
  // event before, if there is one.
  void reset(const Table& next, cl_event event) {
    if (const cl_event former = std::exchange(event_, event); former != nullptr) {
      next.clReleaseEvent(former);
    } else {
      next_ = &next;
    }
  }

  // Gives the reference to the caller.
  cl_event release() { return std::exchange(event_, nullptr); }

 private:
  const Table* next_ = nullptr;
  cl_event event_ = nullptr;
};

}  // namespace cleave::launch
