// The arguments of kernels: set one by one, captured whole when the kernel is enqueued.
#pragma once

#include <CL/cl_icd.h>

#include <memory>
#include <vector>

#include "tests/sim/driver/core/objects.h"
#include "tests/sim/driver/execution.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

// clSetKernelArg and clSetKernelArgSVMPointer. Throw their errors.
void set_argument(Kernel& kernel, cl_uint index, std::size_t size, const void* value);
void set_svm_argument(Kernel& kernel, cl_uint index, const void* pointer);

// The arguments at one moment, and what keeps the objects among them alive.
struct CapturedArguments {
  std::vector<Argument> values;
  std::vector<std::shared_ptr<Object>> objects;  // per argument; null for what is no object
};

// Throws CL_INVALID_KERNEL_ARGS if one is not set, or its object is gone.
CapturedArguments capture(const Kernel& kernel);

// The memory that each argument stands for, as it is now.
std::vector<Execution::Storage> storage_of(const DriverState& state, const CapturedArguments& arguments);

}  // namespace cleave::sim
