// Queue creation that the table and the extension share.
#pragma once

#include <CL/cl_icd.h>

#include "tests/sim/driver/core/call_frame.h"

namespace cleave::sim {

cl_command_queue create_queue_with_properties(CallFrame& frame, cl_context context, cl_device_id device,
                                              const cl_queue_properties* properties);

}  // namespace cleave::sim
