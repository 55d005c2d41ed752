#include "base/files/verified_descriptor.h"

#include <cerrno>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/files/own_descriptors.h"

namespace cleave::base {
namespace {

// fstat(2) itself: some C libraries make newfstatat(2) of it, which filters of system calls forbid for the sake of its path.
int status_of(int fd, struct stat& status) {
#if defined(__LP64__) && defined(SYS_fstat)
  return static_cast<int>(syscall(SYS_fstat, fd, &status));
#else
  return fstat(fd, &status);
#endif
}

// Eventfds, timerfds, epolls, signalfds and their like share one inode, which has no type.
bool is_anonymous(const struct stat& status) { return (status.st_mode & S_IFMT) == 0; }

}  // namespace

void VerifiedDescriptor::open(int fd) { adopt(move_high(fd)); }

void VerifiedDescriptor::adopt(int fd) {
  close();
  if (fd < 0) return;
  struct stat status {};
  if (status_of(fd, status) != 0 || is_anonymous(status)) return static_cast<void>(::close(fd));
  device_.store(status.st_dev, std::memory_order_relaxed);
  inode_.store(status.st_ino, std::memory_order_relaxed);
  fd_.store(fd, std::memory_order_relaxed);
}

void VerifiedDescriptor::close() {
  const bool mine = look() == Seen::ours;
  const int fd = fd_.exchange(-1, std::memory_order_relaxed);
  if (mine) ::close(fd);
}

VerifiedDescriptor::Seen VerifiedDescriptor::look() const {
  struct stat status {};
  if (get() < 0) return Seen::another;
  if (status_of(get(), status) != 0) return errno == EBADF ? Seen::another : Seen::nothing;
  const bool same = status.st_dev == device_.load(std::memory_order_relaxed) &&
                    status.st_ino == inode_.load(std::memory_order_relaxed);
  return same ? Seen::ours : Seen::another;
}

}  // namespace cleave::base
