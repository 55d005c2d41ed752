// Discovery that the table and the extension share.
#pragma once

#include <CL/cl_icd.h>

#include "tests/sim/driver/core/call_frame.h"

namespace cleave::sim {

void platform_ids(CallFrame& frame, cl_uint entries, cl_platform_id* platforms, cl_uint* count);

}  // namespace cleave::sim
