// Which file adds which functions to the table. A function that none of them adds is refused with
// CL_INVALID_OPERATION.
#pragma once

#include <CL/cl_icd.h>

#include <string_view>

namespace cleave::sim {

// Each file's functions are in a namespace of its own, so that all can be compiled as one: names such as `create` are in many.
// clang-format off
#define SIM_FUNCTIONS(X) \
  X(platform) \
  X(context) \
  X(queue) \
  X(memory) \
  X(transfer) \
  X(rect) \
  X(map) \
  X(image) \
  X(image_transfer) \
  X(sampler) \
  X(svm) \
  X(svm_command) \
  X(program) \
  X(build) \
  X(kernel) \
  X(kernel_info) \
  X(launch) \
  X(event) \
  X(ordering) \
  X(extension)
// clang-format on
#define SIM_DECLARE(name)             \
  namespace name##_functions {        \
    void add(cl_icd_dispatch& table); \
  }
SIM_FUNCTIONS(SIM_DECLARE)
#undef SIM_DECLARE

// What objects point to with cl_khr_icd 2: the two tags and no function.
const cl_icd_dispatch& icd_v2_table();
// The function of that name in the driver's table, or null.
void* function_in_table(std::string_view name);

}  // namespace cleave::sim
