#include "cli/probe/test_kernel.h"

namespace cleave::cli {

PlatformAndDevice device_at(const OpenClLibrary& library, unsigned platform, unsigned device) {
  const auto platforms = platforms_of(library);
  if (platform >= platforms.size()) throw ProbeError("the platform has gone");
  const auto devices = devices_of(library, platforms[platform]);
  if (device >= devices.size()) throw ProbeError("the device has gone");
  return {platforms[platform], devices[device]};
}

bool has_compiler(const OpenClLibrary& library, cl_device_id device) {
  cl_bool available = CL_FALSE;
  CLEAVE_CLI_FIND(library, clGetDeviceInfo)
  (device, CL_DEVICE_COMPILER_AVAILABLE, sizeof available, &available, nullptr);
  return available == CL_TRUE;
}

TestKernel prepare_test_kernel(const OpenClLibrary& library, cl_platform_id platform, cl_device_id device,
                               const char* source, const char* name) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platform), 0};
  cl_int error = CL_SUCCESS;
  cl_context context =
      CLEAVE_CLI_FIND(library, clCreateContext)(properties, 1, &device, nullptr, nullptr, &error);
  require(error, "clCreateContext");
  cl_command_queue queue = CLEAVE_CLI_FIND(library, clCreateCommandQueue)(context, device, 0, &error);
  require(error, "clCreateCommandQueue");
  cl_program program =
      CLEAVE_CLI_FIND(library, clCreateProgramWithSource)(context, 1, &source, nullptr, &error);
  require(error, "clCreateProgramWithSource");
  require(CLEAVE_CLI_FIND(library, clBuildProgram)(program, 1, &device, "", nullptr, nullptr),
          "clBuildProgram");
  cl_kernel kernel = CLEAVE_CLI_FIND(library, clCreateKernel)(program, name, &error);
  require(error, "clCreateKernel");
  return {context, queue, kernel};
}

}  // namespace cleave::cli
