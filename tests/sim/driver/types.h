// The plain values that the driver's interface is made of: what was called, launched and executed.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace cleave::sim {

using base::Nanoseconds;
using Size3 = std::array<std::size_t, 3>;

// The kinds of OpenCL objects.
enum class Kind : std::uint8_t { platform, device, context, queue, memory, sampler, program, kernel, event };
inline constexpr std::size_t kind_count = 9;

// One call of an OpenCL function, in the order in which calls were entered.
struct Call {
  std::string function;
  std::string arguments;  // handles as "queue#1", what they point to where that matters
  cl_int result = CL_SUCCESS;
  std::string returned;  // the object or pointer that came back: "event#4", or empty
  std::thread::id thread;
  Nanoseconds at{};  // virtual time when it was entered
};

// A kernel argument as it was when the kernel was enqueued.
struct Argument {
  enum class Kind : std::uint8_t { unset, value, memory, local, svm, sampler };
  Kind kind = Kind::unset;
  std::vector<std::byte> bytes;  // as given to clSetKernelArg; empty for local memory
  std::size_t size = 0;          // in bytes, also of local memory
  std::uint64_t object = 0;      // the id of the memory object or sampler, 0 for a NULL buffer
};

// One clEnqueueNDRangeKernel (or clEnqueueTask) that the driver accepted. Entries from `work_dim` on are 1
// (sizes) or 0 (offset).
struct Launch {
  std::uint64_t id = 0;  // counts from 1
  std::uint64_t queue = 0;
  std::uint64_t kernel_id = 0;
  std::string kernel;
  cl_uint work_dim = 0;
  Size3 offset{};
  Size3 global{1, 1, 1};
  Size3 local{1, 1, 1};              // what was used; see `null_local`
  bool null_local = false;           // the program left the choice to the driver
  std::vector<std::uint64_t> waits;  // ids of the events in the wait list
  std::uint64_t event = 0;           // id of the requested event, 0 if there is none
  std::vector<Argument> arguments;
  std::thread::id thread;

  // Virtual times. `status` is as in clGetEventInfo; times that lie ahead are zero.
  cl_int status = CL_QUEUED;
  Nanoseconds queued{};
  Nanoseconds submitted{};
  Nanoseconds started{};
  Nanoseconds ended{};

  std::size_t items() const { return global[0] * global[1] * global[2]; }
  bool wants_event() const { return event != 0; }
};

// "CL_SUCCESS" and so on; the number if it has no name.
std::string error_name(cl_int code);

}  // namespace cleave::sim
