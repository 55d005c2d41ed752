// The calls that programs make most, on threads with the smallest stacks that the system allows.
#include <array>
#include <climits>
#include <pthread.h>

#include "plain_program.h"

namespace {

constexpr std::size_t kItems = 4096;

struct Work {
  cl_device_id device;
  cl_context context;
  cl_program program;
  int number;
  std::uint32_t sum = 0;
};

// With the plain functions: the stack is for OpenCL.
void* run(void* data) {
  Work& work = *static_cast<Work*>(data);
  cl_int error = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueue(work.context, work.device, CL_QUEUE_PROFILING_ENABLE, &error);
  check(error);
  cl_kernel kernel = clCreateKernel(work.program, "add", &error);
  check(error);
  std::vector<cl_uint> host(kItems, 1);
  cl_mem buffer =
      clCreateBuffer(work.context, CL_MEM_COPY_HOST_PTR, kItems * sizeof(cl_uint), host.data(), &error);
  cl_mem copy =
      clCreateBuffer(work.context, CL_MEM_COPY_HOST_PTR, kItems * sizeof(cl_uint), host.data(), &error);
  const auto number = static_cast<cl_uint>(work.number);
  check(clSetKernelArg(kernel, 0, sizeof buffer, static_cast<const void*>(&buffer)));
  check(clSetKernelArg(kernel, 1, sizeof number, &number));
  const std::size_t origin[3] = {0, 0, 0};
  const std::size_t region[3] = {64, 8, 2};
  for (int round = 0; round < 5; ++round) {
    cl_event event = nullptr;
    check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 64, host.data(), 0, nullptr, nullptr));
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &kItems, nullptr, 0, nullptr, &event));
    check(clEnqueueCopyBuffer(queue, buffer, copy, 0, 0, 1024, 1, &event, nullptr));
    check(clEnqueueFillBuffer(queue, copy, &number, sizeof number, 1024, 1024, 0, nullptr, nullptr));
    check(clEnqueueWriteBufferRect(queue, copy, CL_TRUE, origin, origin, region, 128, 0, 128, 0, host.data(),
                                   0, nullptr, nullptr));
    void* const mapped = clEnqueueMapBuffer(queue, copy, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, 4096, 0,
                                            nullptr, nullptr, &error);
    check(error);
    static_cast<cl_uint*>(mapped)[5] += 1;
    check(clEnqueueUnmapMemObject(queue, copy, mapped, 0, nullptr, nullptr));
    check(clFlush(queue));
    check(clWaitForEvents(1, &event));
    cl_ulong time = 0;
    check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr));
    check(clReleaseEvent(event));
    check(clFinish(queue));
  }
  check(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, kItems * sizeof(cl_uint), host.data(), 0, nullptr,
                            nullptr));
  work.sum = checksum(host);
  check(clEnqueueReadBuffer(queue, copy, CL_TRUE, 0, 4096, host.data(), 0, nullptr, nullptr));
  work.sum ^= checksum(host);
  check(clReleaseMemObject(buffer));
  check(clReleaseMemObject(copy));
  check(clReleaseKernel(kernel));
  check(clReleaseCommandQueue(queue));
  return nullptr;
}

}  // namespace

int main() {
  const cl_device_id device = cl.device_of();
  const kit::Context context = cl.context(device);
  const kit::Program program = cl.build(
      context,
      "kernel void add(global uint* a, uint b) { a[get_global_id(0)] = a[get_global_id(0)] * 3 + b; }");
  Work first{device, context, program, 0};
  run(&first);  // whatever is compiled, is compiled on this thread
  std::printf("%08x\n", first.sum);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
  std::array<Work, 8> all{};
  std::array<pthread_t, 8> threads{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {device, context, program, static_cast<int>(i)};
    require(pthread_create(&threads[i], &attributes, run, &all[i]) == 0, "a thread");
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    pthread_join(threads[i], nullptr);
    std::printf("%zu: %08x\n", i, all[i].sum);
  }
  return 0;
}
