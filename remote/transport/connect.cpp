#include "remote/transport/connect.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/socket.h>

#include "base/files/own_descriptors.h"
#include "base/socket_address.h"

namespace cleave::remote {
namespace {

// The socket, or -1 and errno.
int connect_socket(const base::SocketAddress& address, Time until) {
  const int family = address.storage.ss_family;
  const int socket =
      base::open_high([family] { return ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
  if (socket < 0) return -1;
  int error = 0;
  // A unix socket whose queue is full returns EAGAIN, which counts as a failure.
  if (::connect(socket, address.get(), address.size) != 0) {
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
  const std::vector<base::SocketAddress> addresses = base::resolve(endpoint.address, problem);
  if (addresses.empty()) return {nullptr, "no such host (" + problem + ")"};
  int socket = -1;
  for (std::size_t i = 0; i < addresses.size() && socket < 0; ++i)
    socket = connect_socket(addresses[i], until);
  if (socket < 0) return {nullptr, connect_error_text(errno, endpoint.address.kind)};
  if (!endpoint.tls) return {make_socket_stream(socket, Process::anothers), {}};
  return connect_tls(socket, endpoint.address.host, tls, until);
}

}  // namespace cleave::remote
