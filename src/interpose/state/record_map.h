// Maps the driver's handles to small records of our own. The handles remain the driver's.
//
// A record is added when the program gets its handle and lives as long as the program's references, which are counted
// here. So a record is gone before the driver can reuse the address. Handles that were obtained in a way we do not see
// have no record.
//
// Records are small values and are copied out, so they cannot vanish during use.
//
// Thread-safe. A look-up takes one of sixteen locks for some nanoseconds and does not allocate. Functions that add a record may
// throw std::bad_alloc.
//
// Every launch looks up its kernel, mostly the same one, and the driver's work in between leaves little in the
// processor's caches. So each shard remembers, next to its lock, the entry that it found last: then a look-up touches
// that line and the entry, and not the table with its buckets.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/threads/fork_locks.h"
#include "base/threads/light_mutex.h"

namespace cleave::interpose {

template <typename Record>
class RecordMap {
 public:
  RecordMap() = default;
  // `changes`, if not null, counts records that are added or go, and outlives this.
  RecordMap(base::ForkLocks& forks, base::ForkOrder order, std::atomic<std::uint64_t>* changes = nullptr)
      : changes_(changes) {
    forks.add(order, *this);
  }

  // The program has received `handle` with one reference. Replaces any earlier record of that address.
  void add(const void* handle, const Record& record) {
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    if (shard.entries.insert_or_assign(handle, Entry{.references = 1, .record = record}).second)
      size_.fetch_add(1, std::memory_order_relaxed);
    note_change();
  }

  // The program has taken one more reference.
  void retain(const void* handle) {
    change(handle, [](Entry& entry) { ++entry.references; });
  }

  // The program is about to release one reference. Removes and returns the record if it was the last.
  std::optional<Record> release(const void* handle) {
    if (empty()) return std::nullopt;
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    Entry* const found = shard.find(handle);
    if (found == nullptr || --found->references != 0) return std::nullopt;
    const Record last = found->record;
    if (found->pins == 0) shard.erase(handle);
    size_.fetch_sub(1, std::memory_order_relaxed);
    note_change();
    return last;
  }

  // Whether the program has exactly one reference.
  [[nodiscard]] bool is_last(const void* handle) const {
    if (empty()) return false;
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    const Entry* const found = shard.find(handle);
    return found != nullptr && found->references == 1;
  }

  // Defers the release of the driver's last reference until unpin(), without holding a lock. Returns false if there
  // is no record.
  bool pin(const void* handle) {
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    Entry* const found = shard.find(handle);
    if (found == nullptr) return false;
    ++found->pins;
    return true;
  }

  // For the caller that has removed the last reference here, before the driver's is released.
  [[nodiscard]] bool is_pinned(const void* handle) const {
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    const Entry* const found = shard.find_any(handle);
    return found != nullptr && found->pins != 0;
  }

  // Defers the release of the driver's last reference to unpin(). Returns false if nothing is pinned any more.
  bool defer_release(const void* handle) {
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    Entry* const found = shard.find_any(handle);
    if (found == nullptr) return false;
    found->release_deferred = true;
    return true;
  }

  // Ends pin(). Returns true if the driver's last reference was left here: the caller releases it.
  [[nodiscard]] bool unpin(const void* handle) {
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    Entry* const found = shard.find_any(handle);
    if (--found->pins != 0 || found->references != 0) return false;
    const bool release_deferred = found->release_deferred;
    shard.erase(handle);
    return release_deferred;
  }

  // Removes the record of `handle`.
  void forget(const void* handle) {
    forget_if(handle, [](const Record&) { return true; });
  }

  // Removes it if `matches(record)`.
  template <typename Predicate>
  void forget_if(const void* handle, Predicate matches) {
    if (empty()) return;
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    const Entry* const found = shard.find(handle);
    if (found == nullptr || !matches(found->record)) return;
    shard.erase(handle);
    size_.fetch_sub(1, std::memory_order_relaxed);
    note_change();
  }

  [[nodiscard]] std::optional<Record> find(const void* handle) const {
    if (empty()) return std::nullopt;
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    const Entry* const found = shard.find(handle);
    if (found == nullptr) return std::nullopt;
    return found->record;
  }

  // Calls visit(handle, record) for each record under its lock. `visit` must not call a driver: it may hold a lock of
  // its own while it calls the program back, which may call us.
  template <typename Visit>
  void for_each(Visit visit) {
    if (empty()) return;
    for (Shard& shard : shards_) {
      const base::LightLock lock(shard.mutex);
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

  // One relaxed load, so maps of rarely used objects cost other calls almost nothing.
  [[nodiscard]] bool empty() const { return size() == 0; }

  // For fork(): all shards, which the analysis cannot follow. (Plain mutexes, since a child cannot unlock a reader-writer
  // lock.)
  void lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    for (Shard& shard : shards_) shard.mutex.lock();
  }
  void unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
    for (Shard& shard : shards_) shard.mutex.unlock();
  }

 private:
  // An entry without references exists only for its pins; it is no longer a record.
  struct Entry {
    std::uint32_t references;
    std::uint32_t pins = 0;
    bool release_deferred = false;  // unpin() hands the driver's last reference to its caller
    Record record;
  };
  struct alignas(64) Shard {
    base::LightMutex mutex;
    const void* latest_handle CLEAVE_GUARDED_BY(mutex) = nullptr;
    Entry* latest CLEAVE_GUARDED_BY(mutex) =
        nullptr;  // its entry, which stays where it is until it is erased
    std::unordered_map<const void*, Entry> entries CLEAVE_GUARDED_BY(mutex);

    // Null if there is none.
    Entry* find_any(const void* handle) CLEAVE_REQUIRES(mutex) {
      if (latest_handle != handle) [[unlikely]] {
        const auto found = entries.find(handle);
        if (found == entries.end()) return nullptr;
        latest_handle = handle;
        latest = &found->second;
      }
      return latest;
    }
    // The same, without those that are no longer records.
    Entry* find(const void* handle) CLEAVE_REQUIRES(mutex) {
      Entry* const found = find_any(handle);
      return found != nullptr && found->references != 0 ? found : nullptr;
    }
    void erase(const void* handle) CLEAVE_REQUIRES(mutex) {
      latest_handle = nullptr;
      latest = nullptr;
      entries.erase(handle);
    }
  };
  static constexpr std::size_t kShards = 16;

  // Addresses have constant low bits, so the hash uses the high ones.
  static std::size_t shard_of(const void* handle) {
    return (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15U) >> 60U;
  }
  Shard& of(const void* handle) const { return shards_[shard_of(handle)]; }

  template <typename Change>
  void change(const void* handle, Change apply) {
    if (empty()) return;
    Shard& shard = of(handle);
    const base::LightLock lock(shard.mutex);
    if (Entry* const found = shard.find(handle)) apply(*found);
  }

  // With the shard's lock, after the change: a thread that has read the count before then finds the record changed.
  void note_change() {
    if (changes_ != nullptr) changes_->fetch_add(1, std::memory_order_release);
  }

  mutable std::array<Shard, kShards> shards_;  // a look-up takes a lock and remembers what it found
  std::atomic<std::size_t> size_{0};
  std::atomic<std::uint64_t>* const changes_ = nullptr;
};

}  // namespace cleave::interpose
