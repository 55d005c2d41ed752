// The memory of objects: one range of addresses, so that checking whether a pointer is one of our handles takes a
// subtraction, two comparisons and the check of a tag, and no lock.
//
// The range is reserved at once and committed in steps. A dead object stays readable forever and keeps a dispatch
// pointer, which loaders read before they call us. It is reused first in, first out, after kQuarantine others have died: a
// handle that a program uses after its release gives the specified error, instead of naming another object. Memory grows
// to the largest number of objects that were alive at once, plus the quarantine.
//
// Thread-safe. Allocating and recycling take one lock for a few nanoseconds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/threads/mutex.h"
#include "objects/object.h"

namespace cleave::objects {

class Arena {
 public:
  constexpr Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // The number of dead objects that are kept before the oldest is reused.
  static constexpr std::size_t kQuarantine = 4096;

  // Reserves the range; all objects begin with this dispatch pointer. Returns false if there is no memory. Called once.
  bool begin(const Table& dispatch);

  // A slot with the tag of a dead object and otherwise stale members; null if there is no memory.
  Object* allocate();

  // Requires: the tag is not that of a live object.
  void recycle(Object& object);

  // The live object of this kind at the address, or null.
  [[nodiscard]] Object* find(const void* address, Kind kind) const {
    Object* const slot = slot_at(address);
    return slot != nullptr && slot->tag.load(std::memory_order_acquire) == live(kind) ? slot : nullptr;
  }

  // The slot at the address, live or dead; null if the address was never one of an object.
  [[nodiscard]] Object* slot_at(const void* address) const {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(address) - base_.load(std::memory_order_relaxed);
    if (offset >= committed_.load(std::memory_order_acquire) || offset % kObjectSize != 0) return nullptr;
    return static_cast<Object*>(const_cast<void*>(address));
  }

  // In a forked child, with mutex() held: objects that are not roots are no longer found, and never reused.
  void disown_all() CLEAVE_REQUIRES(mutex_);

  // For fork(): keeps other threads out while it is held.
  base::Mutex& mutex() CLEAVE_RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  // What is `offset` bytes into the range.
  [[nodiscard]] std::byte* at(std::size_t offset) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the result of mmap
    return reinterpret_cast<std::byte*>(base_.load(std::memory_order_relaxed) + offset);
  }
  Object* take_quarantined() CLEAVE_REQUIRES(mutex_);
  Object* take_unused() CLEAVE_REQUIRES(mutex_);
  bool commit_more() CLEAVE_REQUIRES(mutex_);

  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::size_t> committed_{0};  // bytes
  base::Mutex mutex_;
  const Table* dispatch_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
  std::size_t reserved_ CLEAVE_GUARDED_BY(mutex_) = 0;  // bytes
  std::size_t used_ CLEAVE_GUARDED_BY(mutex_) = 0;      // bytes that have been allocated at least once
  Object* oldest_ CLEAVE_GUARDED_BY(mutex_) = nullptr;  // the quarantine, a list through parents[0]
  Object* newest_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
  std::size_t quarantined_ CLEAVE_GUARDED_BY(mutex_) = 0;  // its length
};

}  // namespace cleave::objects
