// A reference to a driver's event, and the status of its command.
#pragma once

#include <algorithm>
#include <utility>

#include "base/opencl.h"

namespace cleave::remote::server {

class EventReference {
 public:
  EventReference() = default;
  EventReference(const Table& cl, cl_event event) : cl_(&cl), event_(event) {}  // owns the reference
  EventReference(EventReference&& other) noexcept { *this = std::move(other); }
  EventReference& operator=(EventReference&& other) noexcept {
    std::swap(cl_, other.cl_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~EventReference() {
    if (event_ != nullptr) cl_->clReleaseEvent(event_);
  }
  [[nodiscard]] cl_event get() const { return event_; }
  [[nodiscard]] EventReference duplicate() const {
    if (event_ == nullptr) return {};
    cl_->clRetainEvent(event_);
    return {*cl_, event_};
  }

 private:
  const Table* cl_ = nullptr;
  cl_event event_ = nullptr;
};

inline cl_int status_of(const Table& cl, cl_event event) {
  cl_int status = CL_COMPLETE;
  const cl_int error =
      cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return error == CL_SUCCESS ? status : error;
}

// The status of one part of a client's command. Only the first part has the command's wait list, and some drivers run the
// others although the first has failed.
inline cl_int status_of(const Table& cl, const EventReference& event, const EventReference& first) {
  const cl_int status = status_of(cl, event.get());
  const bool ends_well = status == CL_COMPLETE && first.get() != nullptr;
  return ends_well ? std::min(status, status_of(cl, first.get())) : status;
}

}  // namespace cleave::remote::server
