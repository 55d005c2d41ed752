#include "remote/server/memory/pinned_reads.h"

#include <utility>

#include <sys/mman.h>

#include "remote/server/memory/pinning.h"

namespace cleave::remote::server {

// Shared with children, so that a fork leaves the pages where the driver has found them.
std::shared_ptr<PinnedBlocks> PinnedBlocks::make(const Table& driver, cl_context context) {
  void* const memory =
      ::mmap(nullptr, kBlocks * kBlock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const std::shared_ptr<PinnedBlocks> made(new PinnedBlocks(static_cast<std::byte*>(memory)));
  made->pinned_ = pin(driver, context, made->memory_, kBlocks * kBlock);
  return made->pinned_ == nullptr ? nullptr : made;
}

PinnedBlocks::~PinnedBlocks() {
  pinned_.reset();
  ::munmap(memory_, kBlocks * kBlock);
}

Block PinnedBlocks::take(std::size_t size) {
  if (size > kBlock) return {};
  for (std::size_t i = 0; i < kBlocks; ++i) {
    if (in_use_[i].exchange(true, std::memory_order_acquire)) continue;
    std::byte* const data = memory_ + i * kBlock;
    std::shared_ptr<const void> owner(data, [self = shared_from_this(), i](const void*) {
      self->in_use_[i].store(false, std::memory_order_release);
    });
    return {std::move(owner), data, size};
  }
  return {};
}

Block PinnedReads::take(cl_command_queue queue, OfQueue& of, std::size_t size) {
  if (size > PinnedBlocks::kBlock) return {};
  if (of.reads < kReadsBefore && ++of.reads == kReadsBefore) of.blocks = blocks_for(queue);
  return of.blocks == nullptr ? Block() : of.blocks->take(size);
}

std::shared_ptr<PinnedBlocks> PinnedReads::blocks_for(cl_command_queue queue) {
  if (!gains_by_pinning(driver_, queue)) return nullptr;
  const cl_context context = context_of(driver_, queue);
  if (context == nullptr) return nullptr;
  std::erase_if(blocks_, [](const auto& one) { return one.second.expired(); });
  if (const auto known = blocks_.find(context); known != blocks_.end()) return known->second.lock();
  if (blocks_.size() >= kMostContexts) return nullptr;
  auto made = PinnedBlocks::make(driver_, context);
  if (made != nullptr) blocks_.emplace(context, made);
  return made;
}

}  // namespace cleave::remote::server
