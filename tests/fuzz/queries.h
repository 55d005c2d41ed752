// The queries of programs and kernels.
#pragma once

#include <CL/cl.h>

#include "observations.h"

namespace fuzz {

// The program's source, options, names and log, and its kernels and their arguments. Not its binaries, which need not be the
// same.
void add_program(Observations& observations, cl_program program, cl_device_id device);
// With or without its attributes.
void add_kernel(Observations& observations, cl_kernel kernel, cl_device_id device, bool attributes);

}  // namespace fuzz
