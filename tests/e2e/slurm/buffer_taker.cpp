// Creates buffers of one MiB until the device refuses one, and says how many there were and with which error it ended.
#include <cstdio>
#include <vector>

#include "tests/kit/failures.h"
#include "tests/kit/linked.h"

int main() {
  const kit::Api cl(kit::linked_table(), kit::end_program);
  constexpr std::size_t kMebibyte = 1024 * 1024;
  constexpr unsigned kMost = 4096;
  cl_device_id device = cl.device_of();
  kit::Context context = cl.context(device);
  std::vector<cl_mem> buffers;
  cl_int error = CL_SUCCESS;
  while (buffers.size() < kMost) {
    cl_mem buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, kMebibyte, nullptr, &error);
    if (error != CL_SUCCESS) break;
    buffers.push_back(buffer);
  }
  std::printf("%zu MiB, error %d\n", buffers.size(), error);
  for (cl_mem buffer : buffers) cl.check("clReleaseMemObject", cl.clReleaseMemObject(buffer));
  return 0;
}
