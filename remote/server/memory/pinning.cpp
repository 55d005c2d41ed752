#include "remote/server/memory/pinning.h"

#include <array>
#include <string_view>

#include "opencl/info.h"

namespace cleave::remote::server {

// What drivers other than NVIDIA's do has not been measured.
bool gains_by_pinning(const Table& driver, cl_command_queue queue) {
  const auto device = opencl::info<cl_device_id>(driver.clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE);
  const auto type = opencl::info<cl_device_type>(driver.clGetDeviceInfo, device, CL_DEVICE_TYPE);
  if ((type & CL_DEVICE_TYPE_GPU) == 0) return false;
  const auto platform = opencl::info<cl_platform_id>(driver.clGetDeviceInfo, device, CL_DEVICE_PLATFORM);
  const auto name = opencl::info<std::array<char, 128>>(driver.clGetPlatformInfo, platform, CL_PLATFORM_NAME);
  return std::string_view(name.data(), name.size()).starts_with("NVIDIA");
}

cl_context context_of(const Table& driver, cl_command_queue queue) {
  return opencl::info<cl_context>(driver.clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT);
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
