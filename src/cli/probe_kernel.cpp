#include <chrono>
#include <unistd.h>

#include "cli/installation.h"
#include "cli/probe.h"
#include "cli/probe_opencl.h"

namespace cleave::cli {
namespace {

constexpr std::size_t items = 4096;
constexpr const char* source =
    "__kernel void cleave_probe(__global uint* out) {\n"
    "  uint i = (uint)get_global_id(0);\n"
    "  out[i] = i * 3u + 1u;\n"
    "}\n";

bool has_compiler(const OpenClLibrary& library, cl_device_id device) {
  cl_bool available = CL_FALSE;
  CLEAVE_CLI_FIND(library, clGetDeviceInfo)
  (device, CL_DEVICE_COMPILER_AVAILABLE, sizeof available, &available, nullptr);
  return available == CL_TRUE;
}

// Nothing is released here: the process ends with the answer.
std::vector<cl_uint> run_on(const OpenClLibrary& library, cl_platform_id platform, cl_device_id device) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                              reinterpret_cast<cl_context_properties>(platform), 0};
  cl_int error = CL_SUCCESS;
  cl_context context =
      CLEAVE_CLI_FIND(library, clCreateContext)(properties, 1, &device, nullptr, nullptr, &error);
  require(error, "clCreateContext");
  cl_command_queue queue = CLEAVE_CLI_FIND(library, clCreateCommandQueue)(context, device, 0, &error);
  require(error, "clCreateCommandQueue");
  const char* text = source;
  cl_program program =
      CLEAVE_CLI_FIND(library, clCreateProgramWithSource)(context, 1, &text, nullptr, &error);
  require(error, "clCreateProgramWithSource");
  require(CLEAVE_CLI_FIND(library, clBuildProgram)(program, 1, &device, "", nullptr, nullptr),
          "clBuildProgram");
  cl_kernel kernel = CLEAVE_CLI_FIND(library, clCreateKernel)(program, "cleave_probe", &error);
  require(error, "clCreateKernel");
  std::vector<cl_uint> result(items);
  const std::size_t bytes = items * sizeof(cl_uint);
  cl_mem buffer =
      CLEAVE_CLI_FIND(library, clCreateBuffer)(context, CL_MEM_WRITE_ONLY, bytes, nullptr, &error);
  require(error, "clCreateBuffer");
  require(CLEAVE_CLI_FIND(library, clSetKernelArg)(kernel, 0, sizeof(cl_mem), &buffer), "clSetKernelArg");
  require(CLEAVE_CLI_FIND(library, clEnqueueNDRangeKernel)(queue, kernel, 1, nullptr, &items, nullptr, 0,
                                                           nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  require(CLEAVE_CLI_FIND(library, clEnqueueReadBuffer)(queue, buffer, CL_TRUE, 0, bytes, result.data(), 0,
                                                        nullptr, nullptr),
          "clEnqueueReadBuffer");
  return result;
}

void require_right(const std::vector<cl_uint>& result) {
  for (cl_uint i = 0; i < items; ++i) {
    if (result[i] != i * 3 + 1)
      throw ProbeFailure("the kernel's result is wrong at item " + std::to_string(i));
  }
}

}  // namespace

int probe_kernel(unsigned platform, unsigned device) {
  answer_and_leave([&](const Answer& answer) {
    const OpenClLibrary library(find_installation().drop_in);
    const auto platforms = platforms_of(library);
    if (platform >= platforms.size()) throw ProbeFailure("the platform has gone");
    const auto devices = devices_of(library, platforms[platform]);
    if (device >= devices.size()) throw ProbeFailure("the device has gone");
    if (!has_compiler(library, devices[device])) {
      answer.tell({"no-compiler"});
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    require_right(run_on(library, platforms[platform], devices[device]));
    const auto taken = std::chrono::steady_clock::now() - start;
    answer.tell(
        {"right", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(taken).count())});
  });
}

}  // namespace cleave::cli
