// A driver that does next to nothing, to measure what stands above it: no lock, no allocation, no state.
// Every object of a kind is the same static handle, all commands are complete at once, and everything
// succeeds.
//
// Queries are answered as far as an interposer makes them: platform, device, context, queue, program, build,
// kernel, work-group, memory and event. The one kernel is called "zero", the device is a GPU of 16 compute
// units with 64 address bits, the queue has CL_QUEUE_PROFILING_ENABLE. Other queries give CL_INVALID_VALUE.
//
// Thread-safe; usable alongside a Driver, whose handles it does not take for its own.
#pragma once

#include <CL/cl_icd.h>

namespace cleave::sim {

// Every function of src/opencl/functions.def. Lives for ever.
const cl_icd_dispatch& zero_table();

// clIcdGetPlatformIDsKHR of this driver.
void* zero_icd_platform_ids_address();

}  // namespace cleave::sim
