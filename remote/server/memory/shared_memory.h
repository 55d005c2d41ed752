// Memory that a client on this machine shares with its worker.
//
// Thread-safe once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cleave::remote::server {

class SharedMemory {
 public:
  // Takes the descriptor over. Null: it is no memory that cannot shrink under us, or too large.
  static std::unique_ptr<SharedMemory> map(int descriptor);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  // Null: not all of it lies within.
  [[nodiscard]] std::byte* at(std::uint64_t offset, std::uint64_t size) const {
    return offset <= size_ && size <= size_ - offset ? data_ + offset : nullptr;
  }

 private:
  SharedMemory(std::byte* data, std::uint64_t size) : data_(data), size_(size) {}

  std::byte* const data_;
  const std::uint64_t size_;
};

// The descriptor that has come with the next byte to be read from this unix socket, which is left there; -1:
// none.
int peek_descriptor(int socket);

}  // namespace cleave::remote::server
