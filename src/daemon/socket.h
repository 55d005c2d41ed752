// A listening socket and what belongs to it. For a unix socket that is a file at its path, and a lock on that file.
//
// Not thread-safe.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include <sys/types.h>

#include "base/file_descriptor.h"

namespace cleave::daemon {

// what() completes a line that begins with the option's name and value: what is wrong, and how to fix it.
class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
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
  base::FileDescriptor lock;  // of a unix socket's file, held for as long as the file is ours; destroyed last
  SocketFile file;
  base::FileDescriptor socket;
  int family = 0;
};

}  // namespace cleave::daemon
