// A unix socket with its file: made with the mode and group asked for before anybody can connect, a dead
// daemon's leftover replaced, a living one's left alone.
//
// While the daemon lives it holds a lock on PATH.lock, which stays behind. Without it two daemons that start
// at once could both find the same leftover, and one would remove the other's new socket.
#pragma once

#include <string>

#include "monitor/listening.h"

namespace cleave::monitor {

// `path` may begin with "@", for a name in the abstract namespace, which leaves no file. Throws ListenError.
// Changes the process's umask for a moment, so no other thread may make files meanwhile.
ListeningSocket listen_on_path(const std::string& path, const UnixSocketOptions& options);

}  // namespace cleave::monitor
