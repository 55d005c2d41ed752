// Two connected sockets, of which one goes to a worker.
//
// Not thread-safe.
#pragma once

#include <cerrno>
#include <system_error>

#include <sys/socket.h>

#include "base/files/file_descriptor.h"

namespace cleave::remote::server {

// Throws std::system_error.
struct SocketPair {
  SocketPair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::system_error(errno, std::generic_category(), "no socket that leads to a worker");
    ours = base::FileDescriptor(ends[0]);
    theirs = base::FileDescriptor(ends[1]);
  }
  base::FileDescriptor ours;
  base::FileDescriptor theirs;
};

}  // namespace cleave::remote::server
