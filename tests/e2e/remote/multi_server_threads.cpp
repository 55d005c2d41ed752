// Threads that write to one buffer on different devices, more than may be under way: what they enqueue waits
// for each other's moves of it. All write the same, so that no order shows. Prints what is the same with one
// device.
#include <thread>

#include "multi_server_setup.h"

namespace {

constexpr std::size_t kThreads = 8;
// A server lets 128 MiB be under way, which half of them share.
constexpr std::size_t kItems = std::size_t{4} << 20U;
constexpr std::size_t kWritesEach = 8;
// So that no write is of all of the buffer, which would need nothing that was there before.
constexpr std::size_t kMore = 16;

void write(const Rig& rig, cl_mem memory, const std::vector<cl_uint>& data, std::size_t number) {
  cl_int error = CL_SUCCESS;
  cl_command_queue const queue =
      clCreateCommandQueue(rig.context, rig.devices[number % rig.devices.size()], 0, &error);
  require(error, "clCreateCommandQueue");
  for (std::size_t i = 0; i < kWritesEach; ++i) {
    require(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, data.size() * sizeof(cl_uint), data.data(), 0,
                                 nullptr, nullptr),
            "clEnqueueWriteBuffer");
  }
  require(clFinish(queue), "clFinish");
  clReleaseCommandQueue(queue);
}

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Rig rig;
  cl_mem const memory = rig.buffer(kItems + kMore);
  const std::vector<cl_uint> data(kItems, 7);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { write(rig, memory, data, i); });
  for (std::thread& one : threads) one.join();
  std::printf("threads %08x\n", checksum(read_all(rig.queues[0], memory, kItems + kMore)));
  clReleaseMemObject(memory);
  return 0;
}
