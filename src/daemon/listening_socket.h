// Opens the sockets that a daemon listens on, or takes those that the service manager has opened. Errors are ListenError,
// whose what() completes a line that begins with the option's name and value: what is wrong, and how to fix it.
#pragma once

#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/address.h"

namespace cleave::daemon {

class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
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
  Descriptor lock;  // of a unix socket's file, held for as long as the file is ours; destroyed last
  SocketFile file;
  Descriptor socket;
  int family = 0;
};

struct UnixSocketOptions {
  mode_t mode = 0666;
  std::string group;  // empty: the process's own
};

// The socket file of a daemon that has died is replaced, that of a running one is not. A missing folder is created, its
// parent is not. TCP host names are resolved. Throws ListenError.
ListeningSocket listen_on(const base::Address& address, const UnixSocketOptions& options);

// The sockets that the service manager has opened (service_manager.h); none where it has not. Only the first call gets
// them. Throws ListenError for a descriptor that is not a listening stream socket.
std::vector<ListeningSocket> inherited_sockets();

// The address to which a socket is bound, with the port that the system chose.
base::Address bound_address(int socket);

// The peer of an accepted socket, for the log: "127.0.0.1:40312", "user 1000, process 4711", "vsock 5".
std::string peer_text(int socket);

// Whether the address accepts connections from every network of the host. TCP only: vsock reaches guests alone.
bool is_wildcard(const base::Address& address);

// Whether only processes of this host can reach the address. A TCP host name counts as reachable from elsewhere.
bool is_local(const base::Address& address);

// Whether a TCP address is an IP address, and not a name.
bool is_numeric(const base::Address& address);

}  // namespace cleave::daemon
