#include "remote/server/memory/pinned_memory.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "remote/protocol/limits.h"

namespace cleave::remote::server {
namespace {

constexpr std::uint64_t kPinnedPage = 4096;

}  // namespace

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

cl_context PinnedMemory::context_of(cl_command_queue queue) const {
  cl_context context = nullptr;
  const cl_int error =
      driver_.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return error == CL_SUCCESS ? context : nullptr;
}

std::shared_ptr<const void> PinnedMemory::pin(cl_context context, std::uint64_t offset,
                                              std::uint64_t size) const {
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = driver_.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size,
                                               shared_->at(offset, size), &error);
  if (error != CL_SUCCESS || buffer == nullptr) return nullptr;
  *bytes_ += size;
  return {buffer, [&driver = driver_, bytes = bytes_, size](cl_mem unpinned) {
            driver.clReleaseMemObject(unpinned);
            *bytes -= size;
          }};
}

std::shared_ptr<const void> PinnedMemory::pin_for(cl_command_queue queue) {
  if (shared_ == nullptr || !gains(queue)) return nullptr;
  const cl_context context = context_of(queue);
  if (context == nullptr) return nullptr;
  std::weak_ptr<Pins>& known = pinned_[context];
  if (auto pins = known.lock()) return pins;
  auto pins = std::make_shared<Pins>();
  const std::uint64_t size = std::min(shared_->size(), kKeptSharedMemory);
  if (has_room_for(size)) pins->beginning = pin(context, 0, size);
  if (pins->beginning == nullptr) return nullptr;
  known = pins;
  return pins;
}

bool PinnedMemory::keep(std::uint64_t offset, std::uint64_t size) {
  const bool is_whole = offset % kPinnedPage == 0 && size % kPinnedPage == 0 && size != 0;
  if (shared_ == nullptr || shared_->at(offset, size) == nullptr || !is_whole || offset < kKeptSharedMemory ||
      kept_.size() >= kMaxKeptRanges)
    return false;
  const auto next = kept_.lower_bound(offset);
  if (next != kept_.end() && next->first - offset < size) return false;
  if (next != kept_.begin() && offset - std::prev(next)->first < std::prev(next)->second) return false;
  kept_.emplace_hint(next, offset, size);
  return true;
}

bool PinnedMemory::forget(std::uint64_t offset, std::uint64_t size) {
  const auto range = kept_.find(offset);
  if (range == kept_.end() || range->second != size) return false;
  kept_.erase(range);
  for (auto& [context, known] : pinned_) {
    const auto pins = known.lock();
    if (pins == nullptr) continue;
    pins->ranges.erase(offset);
  }
  return true;
}

std::shared_ptr<const void> PinnedMemory::pin_place(cl_command_queue queue, std::uint64_t offset,
                                                    std::uint64_t size) {
  auto range = kept_.upper_bound(offset);
  if (range == kept_.begin()) return nullptr;
  --range;
  const auto& [begin, length] = *range;
  if (size > length || offset - begin > length - size) return nullptr;
  const cl_context context = context_of(queue);
  const auto known = pinned_.find(context);
  const auto pins = known == pinned_.end() ? nullptr : known->second.lock();
  if (pins == nullptr) return nullptr;
  if (const auto found = pins->ranges.find(begin); found != pins->ranges.end()) return found->second;
  if (!has_room_for(length)) unpin_elsewhere(begin, pins.get());
  if (!has_room_for(length)) return nullptr;
  return pins->ranges[begin] = pin(context, begin, length);
}

void PinnedMemory::unpin_elsewhere(std::uint64_t offset, const Pins* context) {
  for (const auto& [other, known] : pinned_) {
    const auto pins = known.lock();
    if (pins != nullptr && pins.get() != context) pins->ranges.erase(offset);
  }
}

}  // namespace cleave::remote::server
