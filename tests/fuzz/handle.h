// OpenCL's objects, each released once.
#pragma once

#include <CL/cl.h>

#include <utility>

namespace fuzz {

template <typename T, auto release>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T object) : object_(object) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() { reset(); }

  // The status of the release, or success if there was nothing to release.
  cl_int reset() { return object_ == nullptr ? CL_SUCCESS : release(std::exchange(object_, nullptr)); }
  T get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // For functions that hand an object out through their last argument.
  T* out() {
    reset();
    return &object_;
  }

 private:
  T object_ = nullptr;
};

using Context = Handle<cl_context, clReleaseContext>;
using Queue = Handle<cl_command_queue, clReleaseCommandQueue>;
using Program = Handle<cl_program, clReleaseProgram>;
using Kernel = Handle<cl_kernel, clReleaseKernel>;
using Buffer = Handle<cl_mem, clReleaseMemObject>;
using Event = Handle<cl_event, clReleaseEvent>;

}  // namespace fuzz
