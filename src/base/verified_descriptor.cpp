#include "base/verified_descriptor.h"

#include <unistd.h>

#include <sys/stat.h>

#include "base/own_descriptors.h"

namespace cleave::base {
namespace {

// Eventfds, timerfds, epolls, signalfds and their like share one inode, which has no type.
bool is_anonymous(const struct stat& status) { return (status.st_mode & S_IFMT) == 0; }

}  // namespace

void VerifiedDescriptor::open(int fd) { adopt(move_high(fd)); }

void VerifiedDescriptor::adopt(int fd) {
  close();
  if (fd < 0) return;
  struct stat status {};
  if (fstat(fd, &status) != 0 || is_anonymous(status)) return static_cast<void>(::close(fd));
  device_.store(status.st_dev, std::memory_order_relaxed);
  inode_.store(status.st_ino, std::memory_order_relaxed);
  fd_.store(fd, std::memory_order_relaxed);
}

void VerifiedDescriptor::close() {
  const bool mine = is_valid();
  const int fd = fd_.exchange(-1, std::memory_order_relaxed);
  if (mine) ::close(fd);
}

bool VerifiedDescriptor::is_valid() const {
  struct stat status {};
  return get() >= 0 && fstat(get(), &status) == 0 &&
         status.st_dev == device_.load(std::memory_order_relaxed) &&
         status.st_ino == inode_.load(std::memory_order_relaxed);
}

}  // namespace cleave::base
