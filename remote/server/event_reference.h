// A reference to an event of the driver's.
#pragma once

#include <utility>

#include "base/opencl.h"

namespace cleave::remote::server {

class EventReference {
 public:
  EventReference() = default;
  EventReference(const Table& cl, cl_event event) : cl_(&cl), event_(event) {}  // takes it over
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

 private:
  const Table* cl_ = nullptr;
  cl_event event_ = nullptr;
};

}  // namespace cleave::remote::server
