// Memory that a client on this machine shares with its worker.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

class SharedMemory {
 public:
  // Owns the descriptor from now on. Null: it is not memory that is sealed against shrinking, or it is too large.
  static std::unique_ptr<SharedMemory> map(int descriptor);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::uint64_t size() const { return size_; }  // bytes, at least 1
  // Null: the range is not within the memory.
  [[nodiscard]] std::byte* at(std::uint64_t offset, std::uint64_t size) const {
    return offset <= size_ && size <= size_ - offset ? data_ + offset : nullptr;
  }

 private:
  SharedMemory(std::byte* data, std::uint64_t size) : data_(data), size_(size) {}

  std::byte* const data_;
  const std::uint64_t size_;
};

// Takes so many bytes from a unix socket, where they are, and the one descriptor that came with them; `memory` becomes what it is of,
// null if that cannot be mapped. False: it is not of memory, or not the only one; then it may take for ever to read on.
bool receive_memory(int socket, std::uint32_t bytes, std::unique_ptr<SharedMemory>& memory);

}  // namespace cleave::remote::server
