// The measurements in one process: Cleave reads its settings once, so each set of them needs a new process. Each function
// prints one line of JSON; times are in milliseconds. `native` goes through the loader, `cleave` through the drop-in and then
// the same loader and driver, or to Cleave's platform in the loader.
#pragma once

#include <cstddef>
#include <string>

#include "bench/gpu/side.h"

namespace gpu {

struct Request {
  std::string loader = "libOpenCL.so.1";
  std::string library;  // the drop-in; or
  bool vendor = false;  // Cleave is a vendor behind the loader, beside the driver that it wraps
  Target target;
  int repeats = 9;
  int warm_up = 1;     // launches under Cleave that are not counted
  bool events = true;  // measure launches that want an event as well
  int waits = 8;       // launches during which a small kernel waits, 0: not measured

  [[nodiscard]] const std::string& cleave_library() const { return vendor ? loader : library; }
  [[nodiscard]] Target cleave_target() const {
    Target wrapped = target;
    wrapped.wrapped = vendor;
    return wrapped;
  }
};

// One work natively and under Cleave, in turn; then how long a small kernel on another queue waits meanwhile.
// Returns 0 if the result of every launch was the native one and the one computed on the host.
int measure_launches(const Request& request, const kernels::Work& work);

// `count` tiny launches in a row and one wait, natively and under Cleave in turn.
int measure_stream(const Request& request, std::size_t count);

// Launches and waits for `seconds`, natively or under Cleave, as load beside other measurements.
// Returns 0 if the result of the last launch was right.
int keep_busy(const Request& request, const kernels::Work& work, bool native, double seconds);

// Turns of a loop by `threads` threads within `seconds`, and the processor time that they got.
int count_turns(unsigned threads, double seconds);

}  // namespace gpu
