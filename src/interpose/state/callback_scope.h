// Marks a thread that is within an event callback of the program. It may be a driver's thread that other commands need
// to finish, so waits there are left to the driver, and nothing is called that OpenCL leaves undefined in callbacks,
// such as creating a queue.
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
