// Shared virtual memory here: blocks that a server's driver has allocated, at the same addresses as there, so
// that pointers in them mean the same to the program and to its kernels. What is in them is the server's;
// maps bring it here and take it back (svm.cpp).
//
// The server chooses an address and this process sees whether it is free here: nothing that is there already
// is ever mapped over.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/opencl.h"

namespace cleave::remote::client {

class Connection;

struct SvmBlock {
  std::uintptr_t address = 0;
  std::size_t size = 0;
  const Connection* connection = nullptr;
  std::uint64_t context = 0;  // its id

  [[nodiscard]] bool operator==(const SvmBlock&) const = default;
};

// Whole pages of this process's, counted, as several blocks may lie on one page. Not thread-safe.
class Pages {
 public:
  // Makes those readable and writable that are not there yet. False: one of them is in use for something
  // else; then nothing has changed.
  bool add(std::uintptr_t address, std::size_t size);
  void drop(std::uintptr_t address, std::size_t size);

 private:
  struct Run {
    std::uintptr_t end;
    unsigned uses;
  };
  using Runs = std::map<std::uintptr_t, Run>;  // by where they begin; they do not overlap

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

  // False: its addresses are not free here.
  bool add(const SvmBlock& block);

  // The block is the program's no more. Its memory stays until release_pages(), for what is still on its way there.
  std::optional<SvmBlock> remove(const void* pointer, const Connection& connection);
  void release_pages(const SvmBlock& block);

  // The block that holds all of these bytes, or the place behind its last.
  [[nodiscard]] std::optional<SvmBlock> find(const void* pointer, std::size_t size) const;
  [[nodiscard]] bool holds(const void* pointer, std::size_t size, const Connection& connection) const;

  // What clEnqueueSVMMap has begun and clEnqueueSVMUnmap ends.
  void map(const void* pointer, Mapped mapped);
  std::optional<Mapped> unmap(const void* pointer);

  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }

 private:
  [[nodiscard]] std::optional<SvmBlock> find_locked(std::uintptr_t address, std::size_t size) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, SvmBlock> blocks_;
  std::multimap<std::uintptr_t, Mapped> mapped_;
  Pages pages_;
};

}  // namespace cleave::remote::client
