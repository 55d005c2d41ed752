#include "remote/server/memory/pinned_memory.h"

#include <algorithm>
#include <string_view>

#include "remote/protocol/limits.h"

namespace cleave::remote::server {

// By CL_MEM_USE_HOST_PTR, which on this driver pins the pages for as long as the buffer lives. The buffer itself is never
// used, so that the memory's contents are never taken for its own. What other drivers do has not been measured.
bool PinnedMemory::gains(cl_command_queue queue) const {
  cl_device_id device = nullptr;
  cl_platform_id platform = nullptr;
  cl_device_type type = 0;
  char name[128] = {};
  return driver_.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr) ==
             CL_SUCCESS &&
         driver_.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS &&
         (type & CL_DEVICE_TYPE_GPU) != 0 &&
         driver_.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr) ==
             CL_SUCCESS &&
         driver_.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr) ==
             CL_SUCCESS &&
         std::string_view(name).starts_with("NVIDIA");
}

std::shared_ptr<const void> PinnedMemory::pin_for(cl_command_queue queue) {
  if (shared_ == nullptr || !gains(queue)) return nullptr;
  cl_context context = nullptr;
  if (driver_.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr) != CL_SUCCESS)
    return nullptr;
  std::weak_ptr<const void>& known = pinned_[context];
  if (auto pinned = known.lock()) return pinned;
  const std::uint64_t size = std::min(shared_->size(), kKeptSharedMemory);
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = driver_.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size,
                                               shared_->at(0, size), &error);
  if (error != CL_SUCCESS || buffer == nullptr) return nullptr;
  std::shared_ptr<const void> pinned(
      buffer, [&driver = driver_](cl_mem unpinned) { driver.clReleaseMemObject(unpinned); });
  known = pinned;
  return pinned;
}

}  // namespace cleave::remote::server
