#include "remote/server/processes/front_counters.h"

#include <cerrno>
#include <fcntl.h>
#include <new>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>

namespace cleave::remote::server {
namespace {

void* map_shared(int descriptor) {
  return ::mmap(nullptr, sizeof(FrontCounters), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}

}  // namespace

SharedCounters SharedCounters::make() {
  base::FileDescriptor descriptor(::memfd_create("counters", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  void* const memory = descriptor.is_open() && ::ftruncate(descriptor.get(), sizeof(FrontCounters)) == 0
                           ? map_shared(descriptor.get())
                           : MAP_FAILED;
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
  // A process that shrank it would end the other process, too.
  ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return {std::move(descriptor), new (memory) FrontCounters};
}

std::unique_ptr<SharedCounters> SharedCounters::map(base::FileDescriptor descriptor) {
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0 || status.st_size < static_cast<off_t>(sizeof(FrontCounters)))
    return nullptr;
  void* const memory = map_shared(descriptor.get());
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<SharedCounters>(
      new SharedCounters(std::move(descriptor), static_cast<FrontCounters*>(memory)));
}

SharedCounters::SharedCounters(SharedCounters&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), counters_(std::exchange(other.counters_, nullptr)) {}

SharedCounters::~SharedCounters() {
  if (counters_ != nullptr) ::munmap(counters_, sizeof(FrontCounters));
}

}  // namespace cleave::remote::server
