// OpenCL as all of Cleave sees it, and the table in which faces, layers and drivers meet.
#pragma once

#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>

namespace cleave {

// One pointer for every OpenCL function: what the Khronos ICD and layer specifications call a dispatch table.
// A table of ours has no null entries for functions of OpenCL itself (src/opencl/functions.def).
using Table = cl_icd_dispatch;

}  // namespace cleave
