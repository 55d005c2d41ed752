// Known driver bugs (docs/conformance.md says how each was traced). Drivers that are not listed are trusted. A driver is
// known by its own platform's name and version, which faces below may show otherwise (base/driver_platform.h).
#pragma once

#include "base/opencl.h"
#include "plan/local_size.h"

namespace cleave::interpose {

struct Quirks {
  // clGetKernelSuggestedLocalWorkSizeKHR makes concurrently running launches skip work-groups.
  bool suggest_corrupts_launches = false;
  // After a failed build a program cannot be built again, with any options.
  bool failed_builds_are_final = false;
  // A command that fails after its event was released crashes the process.
  bool crashes_on_late_failure = false;
  // If several commands wait for one that fails, the process crashes, or some of them run.
  bool crashes_on_shared_failure = false;
  // Concurrent launches of one kernel with and without an offset crash the process.
  bool crashes_on_mixed_offsets = false;
  // The same, but only with more than two in flight.
  bool crashes_on_several_mixed_offsets = false;
  // The driver reports no program-scope variables but compiles them, and launches with and without an offset see
  // different copies.
  bool copies_variables = false;
  // The driver keeps kernel argument information for builds without options, but not with any, even empty, options.
  bool loses_argument_info_with_options = false;
  // Concurrent launches of one kernel on several queues crash the process, in some versions.
  bool crashes_on_several_queues = false;
  // Its functions must not run on two threads at a time: it executes commands on the thread that waits for them,
  // without locks. Relevant where threads are added to the program's.
  bool needs_serial_calls = false;
  // Not a bug: the local size that the driver chooses for a launch that names none. Programs can notice it.
  plan::OpenLocalSize open_local_size = plan::OpenLocalSize::unknown;
  // Not a bug: the device belongs to a server, which splits, builds and waits there.
  bool remote = false;
};

// Queries the device's platform on every call. Properties that the driver does not report are assumed harmless.
Quirks quirks_of(const Table& next, cl_device_id device) noexcept;

// The device that a sub-device is a part of, which the program may have given up; null for a root device.
cl_device_id parent_of(const Table& next, cl_device_id device) noexcept;

}  // namespace cleave::interpose
