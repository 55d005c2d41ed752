// A unix socket with its file: made with the mode and group asked for before anybody can connect, a dead
// daemon's leftover replaced, a living one's left alone.
//
// While the daemon lives it holds a lock on PATH.lock, which stays behind. Without it two daemons that start
// at once could both find the same leftover, and one would remove the other's new socket.
#pragma once

#include <string>

#include <sys/socket.h>
#include <sys/un.h>

#include "monitor/listening.h"

namespace cleave::monitor {

// A unix socket's address, as the system's calls take it. A path that begins with "@" is a name in the
// abstract namespace; one that is too long is cut.
class UnixAddress {
 public:
  explicit UnixAddress(const std::string& path);

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

// An abstract name leaves no file. Throws ListenError.
// Changes the process's umask for a moment, so no other thread may make files meanwhile.
ListeningSocket listen_on_path(const std::string& path, const UnixSocketOptions& options);

}  // namespace cleave::monitor
