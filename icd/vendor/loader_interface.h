// What loaders call in addition to OpenCL itself. Source: cl_khr_icd 2.0.
#pragma once

#include "base/opencl.h"

namespace cleave::vendor {

// clIcdSetPlatformDispatchDataKHR: the loader's table for a platform's objects. Requires: the program has none of
// them yet.
cl_int CL_API_CALL set_platform_dispatch_data(cl_platform_id handle, void* data);

// The table that all our objects point to: the translated functions, and the tag of cl_khr_icd 2 in two places.
Table make_dispatch_table();

}  // namespace cleave::vendor
