#include "remote/server/memory/pinning.h"

#include <string_view>

namespace cleave::remote::server {

// What drivers other than NVIDIA's do has not been measured.
bool gains_by_pinning(const Table& driver, cl_command_queue queue) {
  cl_device_id device = nullptr;
  cl_platform_id platform = nullptr;
  cl_device_type type = 0;
  char name[128] = {};
  return driver.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) ==
             CL_SUCCESS &&
         driver.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS &&
         (type & CL_DEVICE_TYPE_GPU) != 0 &&
         driver.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr) ==
             CL_SUCCESS &&
         driver.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr) == CL_SUCCESS &&
         std::string_view(name).starts_with("NVIDIA");
}

cl_context context_of(const Table& driver, cl_command_queue queue) {
  cl_context context = nullptr;
  const cl_int error =
      driver.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return error == CL_SUCCESS ? context : nullptr;
}

// By CL_MEM_USE_HOST_PTR, which on NVIDIA's driver pins the pages for as long as the buffer lives. The buffer itself is never used,
// so that the memory's contents are never taken for its own.
std::shared_ptr<const void> pin(const Table& driver, cl_context context, std::byte* memory,
                                std::size_t size) {
  cl_int error = CL_SUCCESS;
  const cl_mem buffer =
      driver.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, memory, &error);
  if (error != CL_SUCCESS || buffer == nullptr) return nullptr;
  return {buffer, [&driver](cl_mem unpinned) { driver.clReleaseMemObject(unpinned); }};
}

}  // namespace cleave::remote::server
