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
class RecordMap {
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
    const auto found = shard.find(handle);
    if (found == shard.entries.end() || --found->second.references != 0) return std::nullopt;
    const Record last = found->second.record;
    if (found->second.pins == 0) shard.entries.erase(found);
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

  // Keeps the driver from getting the last reference back until unpin(), without a lock that would be held
  // meanwhile. False if there is no record.
  bool pin(const void* handle) {
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.find(handle);
    if (found == shard.entries.end()) return false;
    ++found->second.pins;
    return true;
  }

  // Whoever has released the last reference here asks, before the driver gets its own.
  [[nodiscard]] bool is_pinned(const void* handle) const {
    const Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    return found != shard.entries.end() && found->second.pins != 0;
  }

  // And leaves the driver's to those who hold it; false if nobody does any more.
  bool defer_release(const void* handle) {
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    if (found == shard.entries.end()) return false;
    found->second.release_deferred = true;
    return true;
  }

  // The end of pin(). True if the driver's last reference was left here: it is the caller's to give back.
  [[nodiscard]] bool unpin(const void* handle) {
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.entries.find(handle);
    if (--found->second.pins != 0 || found->second.references != 0) return false;
    const bool release_deferred = found->second.release_deferred;
    shard.entries.erase(found);
    return release_deferred;
  }

  // Whatever was known of `handle` holds no longer.
  void forget(const void* handle) {
    forget_if(handle, [](const Record&) { return true; });
  }

  // The same if `matches(record)`.
  template <typename Predicate>
  void forget_if(const void* handle, Predicate matches) {
    if (empty()) return;
    Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.find(handle);
    if (found == shard.entries.end() || !matches(found->second.record)) return;
    shard.entries.erase(found);
    size_.fetch_sub(1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::optional<Record> find(const void* handle) const {
    if (empty()) return std::nullopt;
    const Shard& shard = of(handle);
    const std::scoped_lock lock(shard.mutex);
    const auto found = shard.find(handle);
    if (found == shard.entries.end()) return std::nullopt;
    return found->second.record;
  }

  // Calls visit(handle, record) for each, under its lock, which no driver is called with: one that holds a
  // lock of its own may be calling the program back, and the program us.
  template <typename Visit>
  void for_each(Visit visit) {
    if (empty()) return;
    for (Shard& shard : shards_) {
      const std::scoped_lock lock(shard.mutex);
      for (const auto& [handle, entry] : shard.entries) {
        if (entry.references != 0) visit(handle, entry.record);
      }
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
  // Without references it stands only for those who hold it, and is no record any more.
  struct Entry {
    Record record;
    std::uint32_t references;
    std::uint32_t pins = 0;
    bool release_deferred = false;  // the driver's last reference is theirs
  };
  using Entries = std::unordered_map<const void*, Entry>;
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    Entries entries;

    auto find(const void* handle) { return live(entries, handle); }
    auto find(const void* handle) const { return live(entries, handle); }

   private:
    template <typename Map>
    static auto live(Map& map, const void* handle) {
      const auto found = map.find(handle);
      return found != map.end() && found->second.references != 0 ? found : map.end();
    }
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
    const auto found = shard.find(handle);
    if (found != shard.entries.end()) apply(found->second);
  }

  std::array<Shard, kShards> shards_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace cleave::interpose
