#include "daemon/socket.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>

namespace cleave::daemon {
namespace {

[[noreturn]] void fail_to_lock(const std::string& what, int error) {
  throw ListenError(what + "; fix that, or name another path: " + std::strerror(error));
}

// Another user's file is not used: that user could keep it locked.
base::FileDescriptor open_lock_file(const std::string& path) {
  base::FileDescriptor file(
      ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  const int error = errno;
  struct stat there {};
  const bool found = (file.is_open() ? ::fstat(file.get(), &there) : ::lstat(path.c_str(), &there)) == 0;
  if (found && there.st_uid != ::geteuid())
    throw ListenError(path + " belongs to another user; remove it, or name another path");
  if (!file.is_open()) fail_to_lock(path + " cannot be opened", error);
  return file;
}

// Whether the path still leads to the file that was opened there.
bool is_still_there(const base::FileDescriptor& file, const std::string& path) {
  struct stat opened {};
  struct stat there {};
  return ::fstat(file.get(), &opened) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

}  // namespace

std::optional<SocketLock> SocketLock::take(const std::string& path) {
  std::string lock_path = path + ".lock";
  while (true) {
    base::FileDescriptor file = open_lock_file(lock_path);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      fail_to_lock(lock_path + " cannot be locked", errno);
    }
    if (is_still_there(file, lock_path)) return SocketLock(std::move(lock_path), std::move(file));
  }
}

SocketLock& SocketLock::operator=(SocketLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

SocketLock::~SocketLock() {
  // Before the lock is released: afterwards the file could be another process's.
  if (file_.is_open() && is_still_there(file_, path_)) ::unlink(path_.c_str());
}

SocketFile::SocketFile(std::string path) {
  struct stat made {};
  if (::lstat(path.c_str(), &made) != 0) return;
  path_ = std::move(path);
  device_ = made.st_dev;
  inode_ = made.st_ino;
}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

SocketFile::~SocketFile() {
  struct stat there {};
  if (path_.empty() || ::lstat(path_.c_str(), &there) != 0) return;
  if (there.st_dev == device_ && there.st_ino == inode_) ::unlink(path_.c_str());
}

}  // namespace cleave::daemon
