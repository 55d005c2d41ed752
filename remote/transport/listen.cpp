#include "remote/transport/listen.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <unistd.h>
#include <vector>

#include <linux/vm_sockets.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <netinet/in.h>

namespace cleave::remote {
namespace {

std::string listen_error_text(int error, base::Address::Kind kind) {
  switch (error) {
    case EADDRINUSE:
      return "somebody else listens there; stop it, or name another address";
    case EADDRNOTAVAIL:
      return "no network of this machine has that address; name one that has";
    case EACCES:
      return "not allowed";
    case EAFNOSUPPORT:
    case ENODEV:
      return kind == base::Address::Kind::vsock
                 ? "this kernel has no vsock; load its module (vhost_vsock, for guests of this host), or "
                   "leave "
                   "the address out"
                 : "this kernel cannot do that; load its module, or leave the address out";
    default:
      return std::strerror(error);
  }
}

// The socket, or -1 and errno.
int bind_and_listen(const sockaddr* address, std::size_t size) {
  const int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  const int on = 1;
  if (address->sa_family != AF_UNIX) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address->sa_family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket, address, static_cast<socklen_t>(size)) == 0 && ::listen(socket, SOMAXCONN) == 0) {
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

// Whether a server answers there. A file that nobody listens on is left over.
bool is_in_use(const sockaddr_un& name, std::size_t size) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool refused =
      ::connect(socket, reinterpret_cast<const sockaddr*>(&name), static_cast<socklen_t>(size)) != 0 &&
      errno == ECONNREFUSED;
  ::close(socket);
  return !refused;
}

int listen_unix(const std::string& path, mode_t mode) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::size_t length = std::min(path.size(), sizeof name.sun_path - 1);
  std::memcpy(name.sun_path, path.data(), length);
  const bool abstract = name.sun_path[0] == '@';
  if (abstract) name.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + length + (abstract ? 0 : 1);
  struct stat status {};
  if (!abstract && ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
      !is_in_use(name, size)) {
    ::unlink(path.c_str());
  }
  // Nobody else may connect before the mode is set.
  const mode_t before = ::umask(0177);
  const int socket = bind_and_listen(reinterpret_cast<const sockaddr*>(&name), size);
  ::umask(before);
  if (socket >= 0 && !abstract) ::chmod(path.c_str(), mode);
  return socket;
}

int listen_vsock(const base::Address& address) {
  sockaddr_vm name{};
  name.svm_family = AF_VSOCK;
  name.svm_cid = address.cid;
  name.svm_port = address.port;
  return bind_and_listen(reinterpret_cast<const sockaddr*>(&name), sizeof name);
}

int listen_tcp(const base::Address& address, std::string& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    problem = std::string("no such address (") + ::gai_strerror(error) + ")";
    return -1;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  return bind_and_listen(found->ai_addr, found->ai_addrlen);
}

std::uint32_t port_of(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  if (name.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
  if (name.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
  return 0;
}

std::string unix_peer_text(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return "a unix socket";
  return "user " + std::to_string(who.uid) + ", process " + std::to_string(who.pid);
}

}  // namespace

Listening listen_on(const Endpoint& endpoint, mode_t mode) {
  Listening result;
  result.endpoint = endpoint;
  switch (endpoint.address.kind) {
    case base::Address::Kind::unix_socket:
      result.socket = listen_unix(endpoint.address.path, mode);
      break;
    case base::Address::Kind::vsock:
      result.socket = listen_vsock(endpoint.address);
      break;
    case base::Address::Kind::tcp:
      result.socket = listen_tcp(endpoint.address, result.problem);
      if (result.socket >= 0) result.endpoint.address.port = port_of(result.socket);
      break;
  }
  if (result.socket < 0 && result.problem.empty())
    result.problem = listen_error_text(errno, endpoint.address.kind);
  return result;
}

std::string peer_of(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "nobody";
  if (name.ss_family == AF_UNIX) return unix_peer_text(socket);
  if (name.ss_family == AF_VSOCK) {
    return "vsock " + std::to_string(reinterpret_cast<const sockaddr_vm&>(name).svm_cid);
  }
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&name), size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "somebody";
  }
  return std::string(host.data()) + (name.ss_family == AF_INET6 ? " port " : ":") + port.data();
}

}  // namespace cleave::remote
