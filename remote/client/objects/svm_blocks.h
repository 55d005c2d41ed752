// Shared virtual memory in this process: blocks that a server's driver has allocated, mapped at the same addresses here, so
// that pointers in them mean the same to the program and to its kernels. The server has their contents; maps copy them
// here and back (api/svm.cpp).
//
// The server chooses an address, and this process checks whether it is free here. Existing mappings are never replaced.
//
// Thread-safe, but for Pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "base/opencl.h"
#include "base/threads/mutex.h"

namespace cleave::remote::client {

class Connection;

struct SvmBlock {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  const Connection* connection = nullptr;
  std::uint64_t context = 0;  // its id

  [[nodiscard]] bool operator==(const SvmBlock&) const = default;
};

// The pages of this process that blocks use, with a count each, as several blocks may lie on one page. Not thread-safe.
class Pages {
 public:
  // Maps the pages that are not mapped yet. Returns false, and changes nothing, if one of them is in use otherwise.
  bool add(std::uintptr_t address, std::size_t size);
  void drop(std::uintptr_t address, std::size_t size);

 private:
  struct Run {
    std::uintptr_t end;
    unsigned uses;
  };
  using Runs = std::map<std::uintptr_t, Run>;  // by their first address; they do not overlap

  bool fill(std::uintptr_t begin, std::uintptr_t end);
  void cut(std::uintptr_t at);

  Runs runs_;
};

class SvmBlocks {
 public:
  struct Mapped {
    std::size_t size;
    cl_map_flags flags;
  };

  // Returns false if its addresses are not free here.
  bool add(const SvmBlock& block);

  // Removes the block that begins there. Its memory stays mapped until release_pages(), since data may still be on its
  // way to it.
  std::optional<SvmBlock> remove(const void* pointer, const Connection& connection);
  void release_pages(const SvmBlock& block);

  // The block that holds all of these bytes. Zero bytes may also lie right behind the last.
  [[nodiscard]] std::optional<SvmBlock> find(const void* pointer, std::size_t size) const;
  [[nodiscard]] bool holds(const void* pointer, std::size_t size, const Connection& connection) const;

  // Records a clEnqueueSVMMap until its clEnqueueSVMUnmap.
  void map(const void* pointer, Mapped mapped);
  std::optional<Mapped> unmap(const void* pointer);

  // Around fork().
  void lock() CLEAVE_ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock() CLEAVE_RELEASE_LOCK(mutex_) { mutex_.unlock(); }

 private:
  [[nodiscard]] std::optional<SvmBlock> find_locked(std::uintptr_t address, std::size_t size) const
      CLEAVE_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::map<std::uintptr_t, SvmBlock> blocks_ CLEAVE_GUARDED_BY(mutex_);
  std::multimap<std::uintptr_t, Mapped> mapped_ CLEAVE_GUARDED_BY(mutex_);
  Pages pages_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::client
