// The NDRange of a launch: the checks that the specification lists for it, and the local size if that is left
// to the driver.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>

#include "tests/sim/driver/core/objects.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

// As the program passes it.
struct RangeArguments {
  cl_uint dims;
  const std::size_t* offset;
  const std::size_t* global;
  const std::size_t* local;
};

// What a NULL local size means for a kernel with reqd_work_group_size.
enum class ReqdWithNull { uses_it, refuses };

// Fills in the dims, offset, global, local and null_local of a Launch, or throws the error for a bad one.
//
// A NULL local size becomes, in the first dimension, the largest divisor of the global size that is at most
// 64 and within the device's limits; 1 in the others. With non-uniform support it is min(64, global size)
// where that divisor would be below 8.
Launch launch_shape(const Kernel& kernel, const RangeArguments& range, ReqdWithNull null_rule);

}  // namespace cleave::sim
