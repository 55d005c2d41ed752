// What programs that are particular about their process have in common: checked work on the first device.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/kit/opencl.h"

// A context, a queue and a built program.
class HostProgram {
 public:
  // With every function that this program is linked with. Errors end up in error().
  HostProgram();

  // One after the other: a large buffer is written, read and mapped, and a kernel launched `launches` times. `print` is called while
  // commands are under way.
  void work(int launches, void (*print)());

  // Of the first call that failed; 0: none has.
  [[nodiscard]] static cl_int error();
  static void forget_error();
  static void list_devices();
  // How many results were wrong.
  [[nodiscard]] int wrong() const { return wrong_; }

 private:
  const kit::Api cl_;
  kit::Context context_;
  kit::Queue queue_;
  kit::Program program_;
  int wrong_ = 0;
};
