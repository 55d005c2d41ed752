#include "remote/server/memory/pinned_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/memory/pinning.h"

namespace cleave::remote::server {
namespace {

constexpr std::uint64_t kPinnedPage = 4096;

}  // namespace

// The same as pin(), and its bytes are counted for as long as it lives.
std::shared_ptr<const void> PinnedMemory::pin(cl_context context, std::uint64_t offset,
                                              std::uint64_t size) const {
  auto pinned = server::pin(driver_, context, shared_->at(offset, size), size);
  if (pinned == nullptr) return nullptr;
  const void* const handle = pinned.get();
  *bytes_ += size;
  return {handle, [pinned = std::move(pinned), bytes = bytes_, size](const void*) mutable {
            pinned.reset();
            *bytes -= size;
          }};
}

std::shared_ptr<const void> PinnedMemory::pin_for(cl_command_queue queue) {
  if (shared_ == nullptr || !gains_by_pinning(driver_, queue)) return nullptr;
  const cl_context context = context_of(driver_, queue);
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
  const cl_context context = context_of(driver_, queue);
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
