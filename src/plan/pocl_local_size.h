// The local size that PoCL 3 chooses for a launch on a processor if the program names none: the program can notice it, so
// slices must have the same. Nothing here calls OpenCL.
//
// Source: PoCL 3.1, lib/CL/devices/pocl_local_size.c, pocl_default_local_size_optimizer().
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <optional>

#include "plan/local_size.h"
#include "plan/ndrange.h"

namespace cleave::plan {

// `limits.group` is CL_DEVICE_MAX_WORK_GROUP_SIZE, `units` CL_DEVICE_MAX_COMPUTE_UNITS. `range.local` and the offset are not
// read. Empty for limits with which PoCL fails (its largest sizes below the preferred multiple).
std::optional<Extent> pocl_local_size(const NDRange& range, const LocalLimits& limits, std::size_t units);

}  // namespace cleave::plan
