// Maps a driver's handles to our objects, for queries that return handles. Holds only the kinds that queries return;
// events, kernels and samplers cost nothing here.
//
// Thread-safe. A look-up takes one of sixteen locks. put() may throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/threads/mutex.h"
#include "objects/object.h"

namespace cleave::objects {

inline constexpr bool is_indexed(Kind kind) {
  return kind != Kind::event && kind != Kind::kernel && kind != Kind::sampler && kind != Kind::callback;
}

class HandleIndex {
 public:
  // Replaces an older entry: a driver may reuse an address.
  void put(const void* raw, Object& object) {
    Shard& shard = of(raw);
    const base::MutexLock lock(shard.mutex);
    shard.objects.insert_or_assign(raw, &object);
  }

  // The object of this kind around `raw`, or null.
  [[nodiscard]] Object* find(const void* raw, Kind kind) {
    Shard& shard = of(raw);
    const base::MutexLock lock(shard.mutex);
    const auto found = shard.objects.find(raw);
    return found != shard.objects.end() && found->second->kind == kind ? found->second : nullptr;
  }

  // Removes `raw` unless it already maps to another object.
  void forget(const void* raw, const Object& object) {
    Shard& shard = of(raw);
    const base::MutexLock lock(shard.mutex);
    const auto found = shard.objects.find(raw);
    if (found != shard.objects.end() && found->second == &object) shard.objects.erase(found);
  }

  // For fork(): all locks, which the analysis cannot follow.
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }

 private:
  struct alignas(64) Shard {
    base::Mutex mutex;
    std::unordered_map<const void*, Object*> objects CLEAVE_GUARDED_BY(mutex);
  };

  // Handles are addresses, whose low bits carry no information.
  Shard& of(const void* raw) {
    return shards_[(reinterpret_cast<std::uintptr_t>(raw) * 0x9e3779b97f4a7c15U) >> 60U];
  }

  std::array<Shard, 16> shards_;
};

}  // namespace cleave::objects
