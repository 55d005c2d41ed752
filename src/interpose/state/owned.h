// Owns one OpenCL object that Cleave created.
#pragma once

#include <memory>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::interpose {

// With the driver's release function: Owned<cl_mem>(buffer, next.clReleaseMemObject).
template <typename Object>
using Owned = std::unique_ptr<std::remove_pointer_t<Object>, cl_int(CL_API_CALL*)(Object)>;

}  // namespace cleave::interpose
