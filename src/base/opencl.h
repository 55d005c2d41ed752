// The OpenCL headers, and the dispatch table through which faces, layers and drivers call each other.
#pragma once

#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>

namespace cleave {

// One pointer for each OpenCL function: the dispatch table of the Khronos ICD and layer specifications. In tables
// that Cleave makes, no entry for a core OpenCL function (src/opencl/functions.def) is null.
using Table = cl_icd_dispatch;

}  // namespace cleave
