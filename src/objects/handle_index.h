// From a driver's handle to the object of ours around it, for queries that answer with handles. Only kinds
// that a query can answer with are kept here; events, kernels and samplers cost nothing.
//
// Thread-safe. A look-up takes one of sixteen locks. put() may throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "objects/object.h"

namespace cleave::objects {

inline constexpr bool is_indexed(Kind kind) {
  return kind != Kind::event && kind != Kind::kernel && kind != Kind::sampler && kind != Kind::callback;
}

class HandleIndex {
 public:
  // Replaces what was there: a driver may use an address again.
  void put(const void* raw, Object& object) {
    Shard& shard = of(raw);
    const std::scoped_lock lock(shard.mutex);
    shard.objects.insert_or_assign(raw, &object);
  }

  // The object of that kind around `raw`, or null.
  [[nodiscard]] Object* find(const void* raw, Kind kind) {
    Shard& shard = of(raw);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.objects.find(raw);
    return found != shard.objects.end() && found->second->kind == kind ? found->second : nullptr;
  }

  // Forgets `raw` unless it stands for another object by now.
  void forget(const void* raw, const Object& object) {
    Shard& shard = of(raw);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.objects.find(raw);
    if (found != shard.objects.end() && found->second == &object) shard.objects.erase(found);
  }

  // For fork(): no other thread is inside between these two.
  void lock_all() {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void unlock_all() {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }

 private:
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<const void*, Object*> objects;
  };

  // Handles are addresses: their low bits say nothing.
  Shard& of(const void* raw) {
    return shards_[(reinterpret_cast<std::uintptr_t>(raw) * 0x9e3779b97f4a7c15U) >> 60U];
  }

  std::array<Shard, 16> shards_;
};

}  // namespace cleave::objects
