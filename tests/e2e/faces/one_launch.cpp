#include "one_launch.h"

#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>

namespace {

constexpr std::size_t kItems = 4096;
constexpr cl_uint kSeed = 12345;

const char* const kSource =
    "kernel void scramble(global uint* out, uint seed) {\n"
    "  uint i = (uint)get_global_id(0);\n"
    "  out[i] = (i ^ seed) * 2654435761u;\n"
    "}\n";

cl_uint checksum(const std::vector<cl_uint>& results) {
  cl_uint sum = 0;
  for (cl_uint i = 0; i < results.size(); ++i) {
    if (results[i] != (i ^ kSeed) * 2654435761U) end_process("a wrong result", CL_OUT_OF_RESOURCES);
    sum = sum * 31 + results[i];
  }
  return sum;
}

}  // namespace

void end_process(const char* call, cl_int error, const kit::Where& where) {
  std::fprintf(stderr, "%s:%u: %s: error %d\n", where.file, where.line, call, error);
  std::_Exit(EXIT_FAILURE);
}

void* open_library(const char* name, int flags) {
  void* const library = dlopen(name, flags);
  if (library == nullptr) end_process(dlerror(), 0);
  return library;
}

kit::Api functions_of(void* library, const char* version) {
  const cl_icd_dispatch table = kit::found_table([&](const char* name) {
    return version != nullptr ? dlvsym(library, name, version) : dlsym(library, name);
  });
  if (table.clEnqueueNDRangeKernel == nullptr) end_process("a function is missing", 0);
  return {table, end_process};
}

void run_one_launch(const kit::Api& cl, const char* title) {
  const cl_device_id device = cl.devices(cl.platforms().at(0)).at(0);
  kit::Context context = cl.context(device);
  kit::Queue queue = cl.queue(context, device);
  kit::Buffer buffer = cl.buffer(context, kItems * sizeof(cl_uint), CL_MEM_WRITE_ONLY);
  kit::Program program = cl.build(context, kSource);
  kit::Kernel kernel = cl.kernel(program, "scramble", buffer, kSeed);
  cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {kItems, 16}));
  const auto results = cl.read<cl_uint>(queue, buffer, kItems);
  cl.check("clReleaseKernel", kernel.reset());
  cl.check("clReleaseProgram", program.reset());
  cl.check("clReleaseMemObject", buffer.reset());
  cl.check("clReleaseCommandQueue", queue.reset());
  cl.check("clReleaseContext", context.reset());
  std::printf("%s: %08x\n", title, checksum(results));
  std::fflush(stdout);  // before a fork or an exec
}

bool has_succeeded(int child) {
  int status = 0;
  return child >= 0 && waitpid(child, &status, 0) == child && status == 0;
}
