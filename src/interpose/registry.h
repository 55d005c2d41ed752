// What Cleave knows of the driver's objects, beside them: a map from handle to a small record. The handles
// stay the driver's own.
//
// A record is made when the program gets its handle and lives as long as the program's references, which are
// counted here as the program takes and gives them. So a record is gone before the driver can use the address
// for another object. A handle that was obtained in a way we do not see simply has no record, and whoever
// asks must do without.
//
// Records are small values, copied out: nothing that is looked at can vanish meanwhile.
//
// Thread-safe. A look-up takes one of sixteen locks for a few tens of nanoseconds and allocates nothing.
// Functions that add a record may throw std::bad_alloc.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace cleave::interpose {

template <typename Record>
class Registry {
 public:
  // The program has just got `handle` with one reference. Replaces whatever was known of that address.
  void add(const void* handle, const Record& record) {
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    if (shard.entries.insert_or_assign(handle, Entry{record, 1}).second)
      size_.fetch_add(1, std::memory_order_relaxed);
  }

  // The program took one more reference.
  void retain(const void* handle) {
    change(handle, [](Entry& entry) { ++entry.references; });
  }

  // The program is about to give one reference back. Returns the record if it was the last; it is forgotten
  // then.
  std::optional<Record> release(const void* handle) {
    if (empty()) return std::nullopt;
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    if (found == shard.entries.end() || --found->second.references != 0) return std::nullopt;
    const Record last = found->second.record;
    shard.entries.erase(found);
    size_.fetch_sub(1, std::memory_order_relaxed);
    return last;
  }

  // Whether the program has one reference left.
  [[nodiscard]] bool is_last(const void* handle) const {
    if (empty()) return false;
    const Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    return found != shard.entries.end() && found->second.references == 1;
  }

  // Whatever was known of `handle` holds no longer.
  void forget(const void* handle) {
    if (empty()) return;
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    size_.fetch_sub(shard.entries.erase(handle), std::memory_order_relaxed);
  }

  [[nodiscard]] std::optional<Record> find(const void* handle) const {
    if (empty()) return std::nullopt;
    const Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    if (found == shard.entries.end()) return std::nullopt;
    return found->second.record;
  }

  // Calls visit(handle, record) for each, under its lock: the program cannot give its last reference back
  // meanwhile.
  template <typename Visit>
  void for_each(Visit visit) {
    if (empty()) return;
    for (Shard& shard : shards_) {
      const std::scoped_lock lock(shard.mutex);
      for (const auto& [handle, entry] : shard.entries) visit(handle, entry.record);
    }
  }

  // Calls `edit(record)` under the lock if there is one.
  template <typename Edit>
  void update(const void* handle, Edit edit) {
    change(handle, [&](Entry& entry) { edit(entry.record); });
  }

  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  // Costs one relaxed load, so that calls which concern few objects cost nothing for all others.
  [[nodiscard]] bool empty() const { return size() == 0; }

  // For fork(): no other thread is inside between these two. (Plain mutexes, since a reader-writer lock
  // cannot be unlocked by the child.)
  void lock_all() {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void unlock_all() {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }

 private:
  struct Entry {
    Record record;
    std::uint32_t references;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<const void*, Entry> entries;
  };
  static constexpr std::size_t kShards = 16;

  // Handles are addresses: their low bits say nothing.
  static std::size_t shard_of(const void* handle) {
    return (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15U) >> 60U;
  }
  Shard& of(const void* handle) { return shards_[shard_of(handle)]; }
  const Shard& of(const void* handle) const { return shards_[shard_of(handle)]; }

  template <typename Change>
  void change(const void* handle, Change apply) {
    if (empty()) return;
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    if (found != shard.entries.end()) apply(found->second);
  }

  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace cleave::interpose
