// Where objects live: one range of addresses, so that "is this pointer one of ours" is a subtraction, two
// comparisons and a look at a tag, without a lock.
//
// The range is reserved at once and made usable piece by piece. What has been an object stays readable for
// ever, keeps its dispatch pointer (a loader reads it before it calls us) and is used again only after some
// thousands of others, first in, first out: a handle that a program uses after its end is answered with the
// specified error and does not hit a stranger. Memory grows to the most objects that were alive at once, and
// those thousands.
//
// Thread-safe. Taking a slot and giving it back take one lock for a few nanoseconds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "objects/object.h"

namespace cleave::objects {

class Arena {
 public:
  constexpr Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // So many objects that are gone wait before the first of them is used again.
  static constexpr std::size_t kQuarantine = 4096;

  // Reserves the range. Every object will have this dispatch pointer. False if there is no memory. Once.
  bool begin(const Table& dispatch);

  // A slot whose tag says that it is gone, all else as it was left; null if memory has run out.
  Object* allocate();

  // Requires: the tag says that it is gone.
  void recycle(Object& object);

  // The live object of that kind at the address, or null.
  [[nodiscard]] Object* find(const void* address, Kind kind) const {
    Object* const slot = slot_at(address);
    return slot != nullptr && slot->tag.load(std::memory_order_acquire) == live(kind) ? slot : nullptr;
  }

  // The slot at the address, whatever has become of it; null where there never was an object of ours.
  [[nodiscard]] Object* slot_at(const void* address) const {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(address) - base_.load(std::memory_order_relaxed);
    if (offset >= committed_.load(std::memory_order_acquire) || offset % kObjectSize != 0) return nullptr;
    return static_cast<Object*>(const_cast<void*>(address));
  }

  // Live objects that are no roots are not found any more, nor used again.
  void disown_all();

  // For fork(): no other thread is inside while this is held.
  std::mutex& lock() { return mutex_; }

 private:
  Object* take_quarantined();
  Object* take_unused();
  bool commit_more();

  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::size_t> committed_{0};  // bytes
  std::mutex mutex_;
  const Table* dispatch_ = nullptr;
  std::size_t reserved_ = 0;  // bytes
  std::size_t used_ = 0;      // bytes that have been handed out at least once
  Object* oldest_ = nullptr;  // of those that are gone, a list through parents[0]
  Object* newest_ = nullptr;
  std::size_t quarantined_ = 0;
};

}  // namespace cleave::objects
