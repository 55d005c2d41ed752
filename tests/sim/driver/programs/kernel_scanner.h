// What the driver understands of OpenCL C: which kernels a text declares, with which parameters and
// attributes.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::sim {

struct Parameter {
  enum class Kind { value, memory, local, sampler, unknown };
  Kind kind = Kind::value;
  std::string name;
  std::string type;  // as clGetKernelArgInfo has it: "float*"
  cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  cl_kernel_arg_type_qualifier qualifiers = CL_KERNEL_ARG_TYPE_NONE;
};

struct KernelSignature {
  std::string name;
  std::vector<Parameter> parameters;
  std::optional<std::array<std::size_t, 3>> required_size;  // reqd_work_group_size
  std::string attributes;                                   // as clGetKernelInfo has them
};

// The kernels of `source`, in its order, each with the attributes before, in and behind its declaration.
// Comments and preprocessor lines are skipped, macros are not expanded; what is not a kernel's
// definition or declaration is passed over. A name counts once.
std::vector<KernelSignature> scan_kernels(std::string_view source);

}  // namespace cleave::sim
