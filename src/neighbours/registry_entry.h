// This process's entry in the registry of processes under Cleave (include/cleave/registry.h), with its counters.
// Counting is a relaxed addition to memory, without a system call: to private memory before publish(), then to the
// mapped page of the entry's file, which other processes read.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files/verified_descriptor.h"
#include "base/threads/first_thread.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "cleave/registry.h"

namespace cleave::neighbours {

class RegistryEntry {
 public:
  using Devices = std::array<std::uint64_t, CLEAVE_REGISTRY_DEVICES>;  // unused ones are 0

  // `folder` is the registry's; if it is empty, no entry is ever published.
  RegistryEntry(base::ForkLocks& forks, std::string folder);
  RegistryEntry(const RegistryEntry&) = delete;
  RegistryEntry& operator=(const RegistryEntry&) = delete;
  ~RegistryEntry();

  [[nodiscard]] bool has_registry() const { return !folder_.empty(); }

  // A page for a process whose entry another process publishes, and for which that process counts the others. As large as a file.
  struct Page {
    cleave_registry_entry entry;
    std::uint64_t peers;  // the latest count in the lower half, and how many there have been; 0: none yet
  };
  static_assert(sizeof(Page) <= CLEAVE_REGISTRY_FILE_SIZE);
  // From now on this process counts in `page`, which another process publishes for it; publish() only permits that. Not
  // thread-safe: before anything is counted.
  void use_page(Page* page) noexcept;
  // Page::peers; empty where this process publishes its entry itself.
  [[nodiscard]] std::optional<std::uint64_t> peers_by_other() const;
  // Counters from a page that another process writes, which may contain anything.
  void take_figures(const cleave_registry_entry& page) noexcept;

  // Adds a device, by its hash (not 0), on which the process has a queue. Ignored when the entry is full.
  void add_device(std::uint64_t device) noexcept;

  // Creates the entry, and removes those of dead processes. If that fails, the counters stay private. Does nothing when
  // called again.
  void publish() noexcept;

  // Deletes the entry for good. Counting continues.
  void withdraw() noexcept;

  [[nodiscard]] Devices devices() const;
  [[nodiscard]] std::string folder() const { return folder_; }

  // The file's name; empty if there is none.
  [[nodiscard]] std::string file() const;

  void set_vms(unsigned vms) noexcept;
  void count_unsplit() noexcept {
    cleave_registry_entry& counters = *counters_.load(std::memory_order_acquire);
    if (first_.is()) [[likely]] {
      base::add_unshared(std::atomic_ref(counters.unsplit), 1);
    } else {
      std::atomic_ref(counters.unsplit_by_others).fetch_add(1, std::memory_order_relaxed);
    }
  }
  void count_split(std::size_t slices, base::Nanoseconds added) noexcept;

 private:
  // The child of a fork drops the parent's entry; publish() creates its own.
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);
  void create_file(int folder) CLEAVE_REQUIRES(mutex_);
  bool lock_and_map() CLEAVE_REQUIRES(mutex_);

  const std::string folder_;
  mutable base::Mutex mutex_;
  cleave_registry_entry local_counters_{};  // in use before publish()
  std::atomic<cleave_registry_entry*> counters_{&local_counters_};
  base::FirstThread first_;  // which counts without atomic additions
  void* page_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
  bool is_published_by_other_ CLEAVE_GUARDED_BY(mutex_) = false;
  base::VerifiedDescriptor locked_file_ CLEAVE_GUARDED_BY(mutex_);  // the lock lasts as long as it is open
  std::string file_name_ CLEAVE_GUARDED_BY(mutex_);
  std::atomic<bool> withdrawn_{false};
};

}  // namespace cleave::neighbours
