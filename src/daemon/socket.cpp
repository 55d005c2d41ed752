#include "daemon/socket.h"

#include <unistd.h>
#include <utility>

#include <sys/stat.h>

namespace cleave::daemon {

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
