// This process's entry in the registry of the processes under Cleave (include/cleave/registry.h), and the
// figures in it. Counting is relaxed additions to memory: the process's own until publish() has been called,
// then the file's page, which others read. Nothing on the way of a launch calls the system.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "cleave/registry.h"
#include "neighbours/verified_descriptor.h"

namespace cleave::neighbours {

class RegistryEntry {
 public:
  using Devices = std::array<std::uint64_t, CLEAVE_REGISTRY_DEVICES>;  // those after the last one are 0

  // `folder` is that of the registry; with an empty one, the process is never seen there.
  explicit RegistryEntry(std::string folder);
  RegistryEntry(const RegistryEntry&) = delete;
  RegistryEntry& operator=(const RegistryEntry&) = delete;
  ~RegistryEntry();

  // Whether there is a registry to enter at all.
  [[nodiscard]] bool has_registry() const { return !folder_.empty(); }

  // The process has a queue on the device with that hash (not 0). Those beyond the entry's room are left out.
  void add_device(std::uint64_t device) noexcept;

  // Makes the entry, and deletes those of processes that are gone. Where that cannot be done, the figures
  // stay in the process. Again does nothing.
  void publish() noexcept;

  // Deletes the entry. The figures go on to be counted, unseen. There is no way back.
  void withdraw() noexcept;

  // In a forked child: forgets the parent's entry. The child makes its own with publish().
  void after_fork_in_child() noexcept;

  // For fork(): no other thread is inside while it is locked.
  std::mutex& lock() { return mutex_; }

  [[nodiscard]] Devices devices() const;
  [[nodiscard]] std::string folder() const { return folder_; }

  // The name of its file; empty where there is none.
  [[nodiscard]] std::string file() const;

  void set_vms(unsigned vms) noexcept;
  void count_whole() noexcept;
  void count_split(std::size_t slices, base::Nanoseconds added) noexcept;

 private:
  void create_file(int folder);
  bool lock_and_map();

  const std::string folder_;
  mutable std::mutex mutex_;
  cleave_registry_entry local_counters_{};  // in use while there is no page
  std::atomic<cleave_registry_entry*> counters_{&local_counters_};
  void* page_ = nullptr;
  VerifiedDescriptor locked_file_;  // the file, whose lock lasts as long as it is open
  std::string file_name_;
  std::atomic<bool> withdrawn_{false};
};

}  // namespace cleave::neighbours
