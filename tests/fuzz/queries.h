// What programs and kernels say of themselves.
#pragma once

#include <CL/cl.h>

#include "observations.h"

namespace fuzz {

// The program's source, options, names and log, and what its kernels and their arguments are. Not its
// binaries, which nobody promises.
void add_program(Observations& observations, cl_program program, cl_device_id device);
// With or without its attributes.
void add_kernel(Observations& observations, cl_kernel kernel, cl_device_id device, bool attributes);

}  // namespace fuzz
