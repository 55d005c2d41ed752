// Opens the sockets that the daemon listens on. Errors are ListenError, whose what() ends a line that begins
// with the option's name and value: what is wrong, and how to mend it.
#pragma once

#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/address.h"

namespace cleave::monitor {

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

// A file that is removed with its owner, if it still is the one that was made.
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

// One socket that listens. When it is destroyed, the file of a unix socket is removed.
struct ListeningSocket {
  Descriptor lock;  // unix sockets: held as long as the file is ours; goes last
  SocketFile file;
  Descriptor socket;
  int family = 0;
};

struct UnixSocketOptions {
  mode_t mode = 0666;
  std::string group;  // empty: the process's own
};

// Where the address is a unix socket's, a file left by a daemon that died is replaced, that of one that lives
// is not. A missing folder is made, its parent is not. TCP takes an IP address, no name.
ListeningSocket listen_on(const base::Address& address, const UnixSocketOptions& options);

// Sockets that the service manager opened (service_manager.h); empty where there are none. Takes them, so
// that only the first call gives any.
std::vector<ListeningSocket> inherited_sockets();

// Whether the address would take connections from every network of the host; for TCP only, since vsock
// reaches guests and nobody else.
bool is_wildcard(const base::Address& address);

// Whether only this host's own processes can reach the address.
bool is_local(const base::Address& address);

// Whether a TCP address is an IP address, and not a name.
bool is_numeric(const base::Address& address);

}  // namespace cleave::monitor
