#include "base/files/own_descriptors.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <sys/resource.h>

namespace cleave::base {
namespace {

constexpr int kStandardNumbers = 3;

void close_with_errno(int fd, int error) {
  ::close(fd);
  errno = error;
}

// Where the limit does not allow ours: high within it, since programs count on low ones there too.
int lowest_within_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kStandardNumbers;
  constexpr rlim_t kEnough = rlim_t{4} * kLowestDescriptor;
  const auto most = static_cast<int>(std::min(limit.rlim_cur, kEnough));
  return std::max(std::min(most - most / 4, kLowestDescriptor), kStandardNumbers);
}

}  // namespace

int move_high(int fd) noexcept {
  if (fd < 0 || fd >= kLowestDescriptor) return fd;
  const int error = errno;
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (const int lowest = lowest_within_limit(); moved < 0 && fd < lowest)
    moved = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
  if (moved < 0 && fd < kStandardNumbers) moved = fcntl(fd, F_DUPFD_CLOEXEC, kStandardNumbers);
  if (moved >= 0 || fd < kStandardNumbers) return close_with_errno(fd, moved >= 0 ? error : EMFILE), moved;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  errno = error;
  return fd;
}

HeldStandardNumbers::HeldStandardNumbers() noexcept {
  const int error = errno;
  for (int number = 0; number < kStandardNumbers; ++number) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    const int fd = ::open("/", O_PATH | O_CLOEXEC);
    if (fd >= kStandardNumbers) ::close(fd);
    if (fd < 0 || fd >= kStandardNumbers) break;
    held_[fd] = true;
  }
  errno = error;
}

// What the program has put there meanwhile is not ours, and no descriptor of a program's is likely to be such a one.
HeldStandardNumbers::~HeldStandardNumbers() {
  const int error = errno;
  for (int number = 0; number < kStandardNumbers; ++number) {
    if (held_[number] && (fcntl(number, F_GETFL) & O_PATH) != 0) ::close(number);
  }
  errno = error;
}

int open_own(const char* path, int flags, mode_t mode) noexcept {
  return open_high([&] { return ::open(path, flags | O_CLOEXEC, mode); });
}

int open_own_at(int folder, const char* name, int flags, mode_t mode) noexcept {
  return open_high([&] { return ::openat(folder, name, flags | O_CLOEXEC, mode); });
}

int duplicate_own(int fd) noexcept {
  const int made = fcntl(fd, F_DUPFD_CLOEXEC, kLowestDescriptor);
  return made >= 0 ? made : open_high([&] { return fcntl(fd, F_DUPFD_CLOEXEC, kStandardNumbers); });
}

FolderList open_folder_list(int folder, const char* path) noexcept {
  const int fd = open_own_at(folder, path, O_RDONLY | O_DIRECTORY);
  DIR* const list = fd >= 0 ? fdopendir(fd) : nullptr;
  if (fd >= 0 && list == nullptr) close_with_errno(fd, errno);
  return FolderList(list);
}

}  // namespace cleave::base
