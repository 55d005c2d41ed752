#include "base/files/registry_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <string_view>
#include <unistd.h>

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/files/own_descriptors.h"
#include "base/text/hash.h"

namespace cleave::base {
namespace {

constexpr int kFileFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
constexpr long kMillisecond = 1'000'000;
constexpr long kFirstPause = 20'000;

struct flock bytes_at(short type, off_t offset, off_t count = 1) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = count;
  return lock;
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void pause_for(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

// Writable for the users who may write to the folder.
mode_t mode_in(int folder) {
  struct stat status {};
  if (fstat(folder, &status) != 0) return 0600;
  const mode_t shared = status.st_mode & (S_IWGRP | S_IWOTH);
  return 0600 | shared | shared << 1U;
}

bool is_registry_file_name(std::string_view name, std::string_view kind) {
  constexpr std::size_t kDigits = 16;
  return name.size() == kind.size() + 1 + kDigits && name.starts_with(kind) && name[kind.size()] == '-' &&
         name.find_first_not_of("0123456789abcdef", kind.size() + 1) == std::string_view::npos;
}

}  // namespace

std::string registry_file_name(const char* kind, const std::string& identity, std::uint32_t version) {
  std::array<char, 48> name{};
  std::snprintf(name.data(), name.size(), "%s-%016llx", kind,
                static_cast<unsigned long long>(hash_of(identity + '\n' + std::to_string(version))));
  return name.data();
}

std::uint64_t registry_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, GRND_NONBLOCK) != sizeof nonce)
    nonce = static_cast<std::uint64_t>(now_ns()) << 22U | static_cast<std::uint64_t>(getpid());
  return std::max<std::uint64_t>(nonce, 1);
}

void make_registry_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) == 0) static_cast<void>(chmod(folder.c_str(), 01777));
}

int open_registry_folder(const std::string& folder) {
  return open_own(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

int open_registry_file(int folder, const std::string& name) {
  return open_own_at(folder, name.c_str(), kFileFlags);
}

int open_or_create_registry_file(int folder, const std::string& name) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    // First without O_CREAT, which kernels refuse for others' files in a folder that all may write.
    if (const int fd = open_registry_file(folder, name); fd >= 0) return fd;
    if (errno == EACCES) {  // another process may be creating it
      pause_for(kMillisecond);
      continue;
    }
    if (errno != ENOENT) return -1;
    const int fd = open_own_at(folder, name.c_str(), kFileFlags | O_CREAT | O_EXCL, 0600);
    if (fd >= 0) return static_cast<void>(fchmod(fd, mode_in(folder))), fd;
    if (errno != EEXIST) return -1;
  }
  return -1;
}

std::vector<std::string> registry_files(int folder, const char* kind) {
  std::vector<std::string> names;
  const FolderList list = open_folder_list(folder);
  if (!list) return names;
  std::map<uid_t, std::size_t> files;
  while (const dirent* const each = readdir(list.get())) {
    struct stat status {};
    if (is_registry_file_name(each->d_name, kind) &&
        fstatat(folder, each->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        files[status.st_uid]++ < kMostFilesOfOwner)
      names.emplace_back(each->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool try_lock_byte(int fd, off_t offset) {
  struct flock lock = bytes_at(F_WRLCK, offset);
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool lock_byte(int fd, off_t offset, std::int64_t& patience_ns) {
  for (long pause = kFirstPause;; pause = std::min(2 * pause, kMillisecond)) {
    if (try_lock_byte(fd, offset)) return true;
    if (errno != EAGAIN && errno != EACCES) return false;
    if (patience_ns <= 0) return errno = EAGAIN, false;
    const std::int64_t before = now_ns();
    pause_for(pause);
    patience_ns -= std::min<std::int64_t>(now_ns() - before, 2 * pause);
  }
}

void unlock_bytes(int fd, off_t offset, off_t count) {
  struct flock lock = bytes_at(F_UNLCK, offset, count);
  fcntl(fd, F_OFD_SETLK, &lock);
}

bool is_byte_locked(int fd, short type, off_t offset) {
  struct flock found = bytes_at(type, offset);
  return fcntl(fd, F_OFD_GETLK, &found) != 0 || found.l_type != F_UNLCK;
}

bool read_at(int fd, void* to, std::size_t size, std::size_t offset) {
  std::memset(to, 0, size);
  ssize_t got = 0;
  do got = pread(fd, to, size, static_cast<off_t>(offset));
  while (got < 0 && errno == EINTR);
  return got >= 0;
}

bool write_at(int fd, const void* from, std::size_t size, std::size_t offset) {
  ssize_t put = 0;
  do put = pwrite(fd, from, size, static_cast<off_t>(offset));
  while (put < 0 && errno == EINTR);
  return put == static_cast<ssize_t>(size);
}

bool may_write_up_to(std::size_t size) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

}  // namespace cleave::base
