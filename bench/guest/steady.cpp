// A plain OpenCL program for a guest: launches the same kernel twice a second, until it is ended, and looks
// at every result. It knows nothing of Cleave.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

namespace {

constexpr std::size_t kItems = 4096;
constexpr std::size_t kGroup = 16;
constexpr useconds_t kPause = 500'000;

const char* const kSource =
    "kernel void steady(global uint* out, uint round) { out[get_global_id(0)] = get_global_id(0) * round; }";

const kit::Api cl(kit::linked_table(), kit::end_program);

bool is_right(const std::vector<cl_uint>& results, cl_uint round) {
  for (cl_uint i = 0; i < results.size(); ++i) {
    if (results[i] != i * round) return false;
  }
  return true;
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const cl_platform_id platform = cl.platforms().at(0);
  std::printf("steady: platform %s\n", cl.text(platform, CL_PLATFORM_NAME).c_str());
  const cl_device_id device = cl.devices(platform).at(0);
  const kit::Context context = cl.context(device);
  const kit::Queue queue = cl.queue(context, device);
  const kit::Program program = cl.build(context, kSource);
  const kit::Buffer buffer = cl.buffer(context, kItems * sizeof(cl_uint));
  const kit::Kernel kernel = cl.kernel(program, "steady", buffer);
  for (cl_uint round = 1;; ++round) {
    cl.check("clSetKernelArg", cl.set_argument(kernel, 1, round));
    cl.check("clEnqueueNDRangeKernel", cl.launch(queue, kernel, {kItems, kGroup}));
    if (!is_right(cl.read<cl_uint>(queue, buffer, kItems), round)) {
      std::fprintf(stderr, "steady: a wrong result\n");
      return EXIT_FAILURE;
    }
    std::printf("steady: %u right\n", round);
    usleep(kPause);
  }
}
