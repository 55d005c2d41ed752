// The arguments of a program's clEnqueueNDRangeKernel.
//
// Not thread-safe: belongs to one call.
#pragma once

#include "base/opencl.h"
#include "interpose/launch/launch_timers.h"
#include "interpose/trace/tracer.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

struct Call {
  cl_command_queue queue;
  cl_kernel kernel;
  cl_uint dims;
  const size_t* offset;
  const size_t* global;
  const size_t* local;
  cl_uint waits;
  const cl_event* wait_list;
  cl_event* event;
  LaunchTimers::Start start;     // for measured launches
  LaunchTrace* trace = nullptr;  // null without CLEAVE_TRACE

  [[nodiscard]] cl_int forward(const Table& next, cl_event* made) const {
    return next.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait_list, made);
  }
  [[nodiscard]] cl_int forward(const Table& next) const { return forward(next, event); }

  // Whether sizes and wait list can be read; if not, the driver reports the error.
  [[nodiscard]] bool is_readable() const {
    if (dims < 1 || dims > 3 || global == nullptr) return false;
    if (waits != 0 && wait_list == nullptr) return false;
    for (cl_uint d = 0; d < dims; ++d) {
      if (global[d] == 0 || (local != nullptr && local[d] == 0)) return false;
    }
    return true;
  }

  [[nodiscard]] plan::NDRange range() const {
    plan::NDRange range;
    range.dims = dims;
    // With a bound that the compiler sees, so that it does not make vectors of three numbers.
    for (cl_uint d = 0; d < range.global.size() && d < dims; ++d) {
      range.global[d] = global[d];
      if (offset != nullptr) range.offset[d] = offset[d];
      if (local != nullptr) range.local[d] = local[d];
    }
    return range;
  }

  // Whether it ends in smaller work-groups. Requires: is_readable().
  [[nodiscard]] bool is_uneven() const {
    if (local == nullptr) return false;
    for (cl_uint d = 0; d < dims; ++d) {
      if (global[d] % local[d] != 0) return true;
    }
    return false;
  }
};

}  // namespace cleave::interpose
