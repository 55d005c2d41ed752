#include "remote/server/memory/shared_memory.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <vector>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "remote/protocol/limits.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

// Sealed against shrinking.
bool is_sealed_memory(int descriptor) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

}  // namespace

std::unique_ptr<SharedMemory> SharedMemory::map(int descriptor) {
  struct stat status {};
  const bool good = is_sealed_memory(descriptor) && ::fstat(descriptor, &status) == 0 && status.st_size > 0 &&
                    static_cast<std::uint64_t>(status.st_size) <= kMaxSharedMemory;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const data =
      good ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  if (data == MAP_FAILED) return nullptr;
  return std::unique_ptr<SharedMemory>(new SharedMemory(static_cast<std::byte*>(data), size));
}

SharedMemory::~SharedMemory() { ::munmap(data_, size_); }

// A descriptor that was only peeked at stays open while it is received, so this never closes the last reference.
bool receive_memory(int socket, std::uint32_t bytes, std::unique_ptr<SharedMemory>& memory) {
  base::FileDescriptor found;
  std::array<std::byte, 4096> buffer;
  while (bytes > 0) {
    const auto into = std::span(buffer).first(std::min<std::size_t>(bytes, buffer.size()));
    std::vector<base::FileDescriptor> descriptors;
    const long seen = receive_with_descriptors(socket, into, descriptors, MSG_PEEK | MSG_DONTWAIT);
    if (seen <= 0 || descriptors.size() > (found.is_open() ? 0 : 1)) return false;
    if (!descriptors.empty()) {
      if (::fcntl(descriptors.front().get(), F_GET_SEALS) < 0) return false;  // nothing but memory has seals
      found = std::move(descriptors.front());
    }
    const long taken = ::recv(socket, buffer.data(), static_cast<std::size_t>(seen), MSG_DONTWAIT);
    if (taken <= 0) return false;
    bytes -= static_cast<std::uint32_t>(taken);
  }
  if (found.is_open()) memory = SharedMemory::map(found.release());
  return true;
}

}  // namespace cleave::remote::server
