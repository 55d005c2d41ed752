// Memory that a client on this machine shares with its worker.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/file_descriptor.h"

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

// Whether a descriptor is of memory that map() would try: sealed against shrinking, which nothing but memory can be.
bool is_sealed_memory(int descriptor);

// The descriptors that came with the next byte of this unix socket, without reading the byte.
std::vector<base::FileDescriptor> peek_descriptors(int socket);

}  // namespace cleave::remote::server
