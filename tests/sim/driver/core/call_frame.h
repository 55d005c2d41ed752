// One call of an OpenCL function on its way through the driver: the lock is held, the call counted, its host
// cost taken and its place in the log reserved.
#pragma once

#include <CL/cl_icd.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "tests/sim/driver/core/driver_state.h"
#include "tests/sim/driver/core/functions.h"

namespace cleave::sim {

class CallFrame {
 public:
  // `state` is the current one.
  CallFrame(DriverState& state, Function function);
  ~CallFrame();
  CallFrame(const CallFrame&) = delete;
  CallFrame& operator=(const CallFrame&) = delete;

  // Adds to the arguments in the log: "global=(64,1,1)".
  void note(std::string_view text);
  bool wants_text() const { return call_ != nullptr; }
  void argument(const std::string& text);
  void returned(std::string text);

  // Runs `body` unless a fault is due instead. Returns what the function is to return. Other exceptions
  // than Error are a mistake of the test's and end the program.
  template <class Body>
  cl_int attempt(Body body) {
    if (const auto fault = state.faults.call(function_)) return finish(*fault);
    try {
      body();
      return finish(CL_SUCCESS);
    } catch (const Error& error) {
      return finish(error.code);
    } catch (const std::bad_alloc&) {
      return finish(CL_OUT_OF_HOST_MEMORY);
    }
  }

  DriverState& state;
  DriverState::Lock lock;

 private:
  cl_int finish(cl_int code);

  const Function function_;
  std::shared_ptr<Call> call_;  // null if no log is kept
};

}  // namespace cleave::sim
