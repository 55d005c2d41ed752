// Queue creation that the table and the extension share.
#pragma once

#include <CL/cl_icd.h>

#include "tests/sim/driver/core/call_frame.h"
#include "tests/sim/driver/core/objects.h"

namespace cleave::sim {

cl_command_queue create_queue_with_properties(CallFrame& frame, Context& context, Device& device,
                                              const cl_queue_properties* properties);

}  // namespace cleave::sim
