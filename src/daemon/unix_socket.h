// Unix sockets with a file: created with their mode and group before anyone can connect. The file of a daemon that has
// died is replaced, that of a running one is left alone.
//
// A daemon holds a lock on PATH.lock for as long as it runs (socket.h). Both files go when it ends. A killed daemon may
// leave processes that listen for a moment longer: while a process without the lock listens, a new daemon waits, for five seconds.
#pragma once

#include <string>

#include <sys/types.h>

#include "daemon/socket.h"

namespace cleave::daemon {

struct UnixSocketOptions {
  mode_t mode = 0666;
  std::string group;  // empty: the process's own
};

// An abstract name has no file and no lock. Throws ListenError. Changes the process's umask for a moment: no other thread may
// create files meanwhile.
ListeningSocket listen_on_path(const std::string& path, const UnixSocketOptions& options);

}  // namespace cleave::daemon
