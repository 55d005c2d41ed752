#include "remote/server/memory/shared_memory.h"

#include <fcntl.h>
#include <span>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "remote/protocol/limits.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {

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

bool is_sealed_memory(int descriptor) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

std::vector<base::FileDescriptor> peek_descriptors(int socket) {
  std::byte byte{};
  std::vector<base::FileDescriptor> descriptors;
  receive_with_descriptors(socket, std::span(&byte, 1), descriptors, MSG_PEEK | MSG_DONTWAIT);
  return descriptors;
}

}  // namespace cleave::remote::server
