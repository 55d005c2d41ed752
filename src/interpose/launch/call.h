// The arguments of a program's clEnqueueNDRangeKernel.
//
// Not thread-safe: belongs to one call.
#pragma once

#include "base/opencl.h"
#include "interpose/costs/launch_timers.h"
#include "interpose/trace/tracer.h"
#include "plan/ndrange.h"

namespace cleave::interpose {

struct Call {
  // With a constructor, since of an aggregate GCC sets all bytes to zero first, by an instruction that takes thirty cycles to begin.
  Call(cl_command_queue its_queue, cl_kernel its_kernel, cl_uint its_dims, const size_t* its_offset,
       const size_t* its_global, const size_t* its_local, cl_uint its_waits, const cl_event* its_wait_list,
       cl_event* its_event, const LaunchTimers::Start& its_start)
      : queue(its_queue),
        kernel(its_kernel),
        dims(its_dims),
        offset(its_offset),
        global(its_global),
        local(its_local),
        waits(its_waits),
        wait_list(its_wait_list),
        event(its_event),
        start(its_start) {}

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
