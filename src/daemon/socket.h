// A listening socket and what belongs to it. For a unix socket that is a file at its path, and a lock on that file.
//
// Not thread-safe.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/files/file_descriptor.h"

namespace cleave::daemon {

// what() completes a line that begins with the option's name and value: what is wrong, and how to fix it.
class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The right to create and to remove the socket file at a path, which one process at a time has. Without it two daemons that
// start at the same time could both find the same stale socket, and one would remove the other's new one.
//
// The protocol: to get the right, a process opens PATH.lock, which it creates if need be, and takes flock(2) on it without
// waiting. It has the right if PATH.lock is then still the file that it has locked; if not, another process has removed the
// file in between, and it begins again. To give the right up it removes PATH.lock first, and then releases the lock. So no
// process holds a lock on a file that others cannot find, and the folder is left as it was. A process that is killed leaves
// the file unlocked, for the next one.
class SocketLock {
 public:
  SocketLock() = default;  // holds nothing
  // Empty: another process holds it. Throws ListenError if the file cannot be used.
  static std::optional<SocketLock> take(const std::string& path);
  SocketLock(SocketLock&& other) noexcept { *this = std::move(other); }
  SocketLock& operator=(SocketLock&& other) noexcept;
  ~SocketLock();

 private:
  SocketLock(std::string path, base::FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;  // of the locked file
  base::FileDescriptor file_;
};

// Removes a socket's file at the end of its life, if the file is still the one that was created.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept { *this = std::move(other); }
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile();

 private:
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A listening socket. The file of a unix socket is removed with it.
struct ListeningSocket {
  SocketLock lock;  // of a unix socket, held for as long as the file is ours; destroyed last
  SocketFile file;
  base::FileDescriptor socket;
  int family = 0;
};

}  // namespace cleave::daemon
