// What devices answer to clGetDeviceInfo, and the versions and extensions that the platform shares with them.
#pragma once

#include <CL/cl_icd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/sim/driver/core/call_frame.h"
#include "tests/sim/driver/core/info_answer.h"
#include "tests/sim/driver/options.h"

namespace cleave::sim {

void device_info(CallFrame& frame, const Device& device, InfoQuery query);

// The numbers in "OpenCL 3.0 ...".
cl_version numeric_version(const Options& options);

// Options::extensions, and those that other options bring.
std::string extension_string(const Options& options);
std::vector<cl_name_version> extension_list(const Options& options);

}  // namespace cleave::sim
