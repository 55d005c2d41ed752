#include "remote/transport/connect.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <linux/vm_sockets.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace cleave::remote {
namespace {

// The socket, or -1 and errno.
int connect_socket(const sockaddr* address, std::size_t size, Time until) {
  const int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  int error = 0;
  // A unix socket whose queue is full returns EAGAIN, which counts as a failure.
  if (::connect(socket, address, static_cast<socklen_t>(size)) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      socklen_t length = sizeof error;
      error = !wait_for(socket, POLLOUT, until)                                  ? ETIMEDOUT
              : ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error
                                                                                 : errno;
    }
  }
  if (error == 0) return socket;
  ::close(socket);
  errno = error;
  return -1;
}

int connect_unix(const base::Address& address, Time until) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::size_t size = std::min(address.path.size(), sizeof name.sun_path - 1);
  std::memcpy(name.sun_path, address.path.data(), size);
  const bool abstract = name.sun_path[0] == '@';
  if (abstract) name.sun_path[0] = '\0';
  return connect_socket(reinterpret_cast<const sockaddr*>(&name),
                        offsetof(sockaddr_un, sun_path) + size + (abstract ? 0 : 1), until);
}

int connect_vsock(const base::Address& address, Time until) {
  sockaddr_vm name{};
  name.svm_family = AF_VSOCK;
  name.svm_cid = address.cid;
  name.svm_port = address.port;
  return connect_socket(reinterpret_cast<const sockaddr*>(&name), sizeof name, until);
}

int connect_tcp(const base::Address& address, Time until, std::string& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    problem = std::string("no such host (") + ::gai_strerror(error) + ")";
    return -1;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  int socket = -1;
  for (const addrinfo* one = found; one != nullptr && socket < 0; one = one->ai_next) {
    socket = connect_socket(one->ai_addr, one->ai_addrlen, until);
  }
  return socket;
}

std::string connect_error_text(int error, base::Address::Kind kind) {
  if (kind == base::Address::Kind::vsock) {
    if (error == ECONNRESET) return "no server there";  // where other sockets are refused
    if (error == EAFNOSUPPORT || error == ENODEV)
      return "there is no vsock here; the VM needs a vsock device, and its kernel the module";
  }
  switch (error) {
    case ECONNREFUSED:
    case ENOENT:
      return "no server there";
    case ETIMEDOUT:
      return "no answer in time";
    default:
      return std::strerror(error);
  }
}

}  // namespace

ConnectResult connect_to(const Endpoint& endpoint, const TlsFiles& tls, Time until) {
  std::string problem;
  int socket = -1;
  switch (endpoint.address.kind) {
    case base::Address::Kind::unix_socket:
      socket = connect_unix(endpoint.address, until);
      break;
    case base::Address::Kind::vsock:
      socket = connect_vsock(endpoint.address, until);
      break;
    case base::Address::Kind::tcp:
      socket = connect_tcp(endpoint.address, until, problem);
      break;
  }
  if (socket < 0)
    return {nullptr, problem.empty() ? connect_error_text(errno, endpoint.address.kind) : problem};
  if (!endpoint.tls) return {make_socket_stream(socket), {}};
  return connect_tls(socket, endpoint.address.host, tls, until);
}

}  // namespace cleave::remote
