// Where contexts over several servers are easily wrong: maps that lie beside each other, objects that are let
// go while commands still need them, commands that come to nothing. Prints what is the same with one device.
#include "several_queues.h"

namespace {

constexpr std::size_t kFew = 1024;
constexpr std::size_t kBytes = kFew * sizeof(cl_uint);

cl_mem half_of(cl_mem memory, std::size_t from, std::size_t bytes) {
  const cl_buffer_region half{from, bytes};
  cl_int error = CL_SUCCESS;
  cl_mem const made = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
  require(error, "clCreateSubBuffer");
  return made;
}

cl_uint* map(cl_command_queue queue, cl_mem memory, std::size_t bytes) {
  cl_int error = CL_SUCCESS;
  void* const place = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                         nullptr, nullptr, &error);
  require(error, "clEnqueueMapBuffer");
  return static_cast<cl_uint*>(place);
}

void unmap(cl_command_queue queue, cl_mem memory, void* place) {
  require(clEnqueueUnmapMemObject(queue, memory, place, 0, nullptr, nullptr), "clEnqueueUnmapMemObject");
  require(clFinish(queue), "clFinish");
}

// Two maps of one buffer, of which one goes while the other is in use: of the buffer and of its half, by the
// same queue or another, in either order. It is so large that memory which is not mapped is given back.
void maps_beside(const Rig& rig) {
  constexpr std::size_t kMany = std::size_t{1} << 19U;
  constexpr std::size_t kHalf = kMany * sizeof(cl_uint) / 2;
  cl_mem const memory = rig.buffer(kMany);
  cl_mem const half = half_of(memory, kHalf, kHalf);
  std::printf("maps beside");
  for (cl_uint i = 0; i < 8; ++i) {
    cl_command_queue const first = rig.queues[i % 2];
    cl_command_queue const second = rig.queues[i / 2 % 2];
    cl_uint* const a = map(first, memory, kHalf);
    cl_uint* const b = map(second, half, kHalf);
    a[i] = b[i] = 1000 + i;
    const bool is_first = i / 4 == 0;
    unmap(is_first ? second : first, is_first ? memory : half, is_first ? a : b);
    std::printf(" %u", is_first ? b[i] : a[i]);
    unmap(is_first ? first : second, is_first ? half : memory, is_first ? b : a);
    std::printf(" %08x", checksum(read_all(rig.queues[i % 2], memory, kMany)));
  }
  std::printf("\n");
  clReleaseMemObject(half);
  clReleaseMemObject(memory);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Rig rig;
  maps_beside(rig);
  return 0;
}
