// The functions of OpenCL as numbers, made from src/opencl/functions.def, and the few extension functions the driver
// offers. Counting, faults and the log all go by these numbers.
#pragma once

#include <CL/cl_icd.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace cleave::sim {

enum class Function : std::size_t {
#define CL_FUNCTION(version, name, ...) name,
#include "opencl/functions.def"
#undef CL_FUNCTION
  clIcdGetPlatformIDsKHR,
  clIcdGetFunctionAddressForPlatformKHR,
  clIcdSetPlatformDispatchDataKHR,
  clCreateCommandQueueWithPropertiesKHR,
  clGetKernelSuggestedLocalWorkSizeKHR,
  count,
};

inline constexpr std::size_t function_count = static_cast<std::size_t>(Function::count);

inline constexpr std::array<std::string_view, function_count> function_names = {
#define CL_FUNCTION(version, name, ...) #name,
#include "opencl/functions.def"
#undef CL_FUNCTION
    "clIcdGetPlatformIDsKHR",
    "clIcdGetFunctionAddressForPlatformKHR",
    "clIcdSetPlatformDispatchDataKHR",
    "clCreateCommandQueueWithPropertiesKHR",
    "clGetKernelSuggestedLocalWorkSizeKHR",
};

constexpr std::string_view name_of(Function function) {
  return function_names[static_cast<std::size_t>(function)];
}

// Nothing if the driver has no function of that name.
constexpr std::optional<Function> function_named(std::string_view name) {
  for (std::size_t i = 0; i < function_count; ++i) {
    if (function_names[i] == name) return static_cast<Function>(i);
  }
  return std::nullopt;
}

}  // namespace cleave::sim
