// An object of OpenCL that Cleave made for itself, given back by itself.
#pragma once

#include <memory>
#include <type_traits>

#include "base/opencl.h"

namespace cleave::interpose {

// Made with the driver's function that releases it: Owned<cl_mem>(buffer, next.clReleaseMemObject).
template <typename Object>
using Owned = std::unique_ptr<std::remove_pointer_t<Object>, cl_int(CL_API_CALL*)(Object)>;

}  // namespace cleave::interpose
