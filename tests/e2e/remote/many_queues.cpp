// More commands than may be under way, a few on each of many queues, before the first wait; then writes, more
// than their data may be. Prints what the buffers hold.
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kQueues = 160;
constexpr std::size_t kEach = 60;
constexpr std::size_t kWritten = std::size_t{60} << 10U;

void require(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  std::fprintf(stderr, "%s: error %d\n", what, error);
  std::exit(1);
}

std::vector<cl_command_queue> make_queues(cl_context context, cl_device_id device) {
  std::vector<cl_command_queue> queues;
  for (std::size_t i = 0; i < kQueues; ++i) {
    cl_int error = CL_SUCCESS;
    queues.push_back(clCreateCommandQueue(context, device, 0, &error));
    require(error, "clCreateCommandQueue");
  }
  return queues;
}

template <typename Enqueue>
void each(const std::vector<cl_command_queue>& queues, const char* what, Enqueue enqueue) {
  for (cl_command_queue const queue : queues) {
    for (std::size_t i = 0; i < kEach; ++i) require(enqueue(queue), what);
  }
  for (cl_command_queue const queue : queues) require(clFinish(queue), "clFinish");
}

}  // namespace

int main() {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_int error = CL_SUCCESS;
  require(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
  require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  cl_context const context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  require(error, "clCreateContext");
  const std::vector<cl_command_queue> queues = make_queues(context, device);
  cl_mem const buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, kWritten, nullptr, &error);
  require(error, "clCreateBuffer");
  const cl_uint pattern = 0x01020304;
  each(queues, "clEnqueueFillBuffer", [&](cl_command_queue queue) {
    return clEnqueueFillBuffer(queue, buffer, &pattern, sizeof pattern, 0, 64, 0, nullptr, nullptr);
  });
  const std::vector<unsigned char> data(kWritten, 9);
  each(queues, "clEnqueueWriteBuffer", [&](cl_command_queue queue) {
    return clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 64, kWritten - 64, data.data(), 0, nullptr, nullptr);
  });
  std::vector<unsigned char> all(kWritten);
  require(clEnqueueReadBuffer(queues[0], buffer, CL_TRUE, 0, kWritten, all.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  std::printf("%d %d %d\n", all[0], all[63], all[kWritten - 1]);
  return 0;
}
