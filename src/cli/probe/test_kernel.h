// A device, and a kernel ready to run on it, for the probes. Nothing is released: the process ends with the probe.
#pragma once

#include "cli/probe/opencl_library.h"

namespace cleave::cli {

struct PlatformAndDevice {
  cl_platform_id platform;
  cl_device_id device;
};

struct TestKernel {
  cl_context context;
  cl_command_queue queue;
  cl_kernel kernel;
};

// Throws ProbeError if there is no such device any more.
PlatformAndDevice device_at(const OpenClLibrary& library, unsigned platform, unsigned device);

bool has_compiler(const OpenClLibrary& library, cl_device_id device);

// Builds the kernel `name` of `source` for the device. Throws ProbeError with the function that failed.
TestKernel prepare_test_kernel(const OpenClLibrary& library, cl_platform_id platform, cl_device_id device,
                               const char* source, const char* name);

}  // namespace cleave::cli
