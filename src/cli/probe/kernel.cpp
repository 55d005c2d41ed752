#include <chrono>
#include <unistd.h>

#include "cli/probe/opencl_library.h"
#include "cli/probe/probe.h"
#include "cli/probe/test_kernel.h"
#include "cli/system/installation.h"

namespace cleave::cli {
namespace {

constexpr std::size_t items = 4096;
constexpr const char* kProbe =
    "__kernel void cleave_probe(__global uint* out) {\n"
    "  uint i = (uint)get_global_id(0);\n"
    "  out[i] = i * 3u + 1u;\n"
    "}\n";

// Nothing is released: the process ends with the probe.
std::vector<cl_uint> run_on(const OpenClLibrary& library, cl_platform_id platform, cl_device_id device) {
  const auto [context, queue, kernel] =
      prepare_test_kernel(library, platform, device, kProbe, "cleave_probe");
  cl_int error = CL_SUCCESS;
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
    if (result[i] != i * 3 + 1) throw ProbeError("the kernel's result is wrong at item " + std::to_string(i));
  }
}

}  // namespace

int probe_kernel(unsigned platform, unsigned device) {
  run_probe_and_exit([&](const RecordWriter& writer) {
    const OpenClLibrary library(find_installation().drop_in);
    const auto [platform_id, device_id] = device_at(library, platform, device);
    if (!has_compiler(library, device_id)) {
      writer.write({"no-compiler"});
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    require_right(run_on(library, platform_id, device_id));
    const auto taken = std::chrono::steady_clock::now() - start;
    writer.write(
        {"right", std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(taken).count())});
  });
}

}  // namespace cleave::cli
