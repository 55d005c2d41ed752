// Whether this thread is inside a callback of the program's for an event. It may be a thread of the driver's,
// and the one that others' commands need to come to an end, so waits there are left to the driver, and
// nothing is called that OpenCL leaves undefined there, such as making a queue.
#pragma once

namespace cleave::interpose {

class CallbackScope {
 public:
  CallbackScope() { ++depth_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
  ~CallbackScope() { --depth_; }

  [[nodiscard]] static bool inside() { return depth_ != 0; }

 private:
  static constinit inline thread_local unsigned depth_ = 0;
};

}  // namespace cleave::interpose
