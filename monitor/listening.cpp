#include "monitor/listening.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>

#include <linux/vm_sockets.h>
#include <sys/socket.h>

#include "monitor/service_manager.h"
#include "monitor/unix_socket.h"

#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <netinet/in.h>

namespace cleave::monitor {
namespace {

asio::ip::address ip_of(const base::Address& address) {
  asio::error_code error;
  auto ip = asio::ip::make_address(address.host, error);
  if (error) return asio::ip::address{};
  if (ip.is_v6() && ip.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, ip.to_v6());
  return ip;
}

[[noreturn]] void fail(int error) {
  switch (error) {
    case EADDRINUSE:
      throw ListenError("somebody else listens there; stop it, or name another port");
    case EADDRNOTAVAIL:
      throw ListenError("no network of this host has that address; name one that has");
    case EACCES:
      throw ListenError("not allowed; name a port from 1024 on");
    case EAFNOSUPPORT:
    case ENODEV:
      throw ListenError("this kernel cannot do that; load its module, or leave the address out");
    default:
      throw ListenError(std::strerror(error));
  }
}

Descriptor open_socket(int family) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) fail(errno);
  return socket;
}

void bind_and_listen(const Descriptor& socket, const void* address, std::size_t size) {
  const auto* plain = static_cast<const sockaddr*>(address);
  if (::bind(socket.get(), plain, static_cast<socklen_t>(size)) != 0) fail(errno);
  if (::listen(socket.get(), SOMAXCONN) != 0) fail(errno);
}

ListeningSocket listen_on_tcp(const base::Address& address) {
  if (!is_numeric(address)) throw ListenError("TCP wants an IP address, such as tcp:127.0.0.1:27460");
  const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(address.host),
                                         static_cast<std::uint16_t>(address.port));
  ListeningSocket result;
  result.family = endpoint.protocol().family();
  result.socket = open_socket(result.family);
  const int on = 1;
  ::setsockopt(result.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (result.family == AF_INET6) ::setsockopt(result.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  bind_and_listen(result.socket, endpoint.data(), endpoint.size());
  return result;
}

ListeningSocket listen_on_vsock(const base::Address& address) {
  sockaddr_vm name{};
  name.svm_family = AF_VSOCK;
  name.svm_cid = address.cid;
  name.svm_port = address.port;
  ListeningSocket result;
  result.family = AF_VSOCK;
  result.socket = open_socket(AF_VSOCK);
  bind_and_listen(result.socket, &name, sizeof name);
  return result;
}

std::optional<int> option_of(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

static_assert(base::Address::kAnyCid == VMADDR_CID_ANY && base::Address::kHostCid == VMADDR_CID_HOST);

bool is_numeric(const base::Address& address) {
  asio::error_code error;
  asio::ip::make_address(address.host, error);
  return !error;
}

bool is_wildcard(const base::Address& address) {
  return address.kind == base::Address::Kind::tcp && is_numeric(address) && ip_of(address).is_unspecified();
}

bool is_local(const base::Address& address) {
  if (address.kind == base::Address::Kind::unix_socket) return true;
  return address.kind == base::Address::Kind::tcp && is_numeric(address) && ip_of(address).is_loopback();
}

ListeningSocket listen_on(const base::Address& address, const UnixSocketOptions& options) {
  switch (address.kind) {
    case base::Address::Kind::unix_socket:
      return listen_on_path(address.path, options);
    case base::Address::Kind::tcp:
      return listen_on_tcp(address);
    case base::Address::Kind::vsock:
      break;
  }
  return listen_on_vsock(address);
}

std::vector<ListeningSocket> inherited_sockets() {
  const int count = take_inherited_descriptors();
  std::vector<ListeningSocket> sockets;
  for (int fd = kFirstInheritedDescriptor; fd < kFirstInheritedDescriptor + count; ++fd) {
    if (option_of(fd, SO_TYPE) != SOCK_STREAM || option_of(fd, SO_ACCEPTCONN) != 1) {
      throw ListenError("descriptor " + std::to_string(fd) +
                        " from the service manager is no stream socket that listens; mend its .socket unit");
    }
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ListeningSocket& taken = sockets.emplace_back();
    taken.socket = Descriptor(fd);
    taken.family = option_of(fd, SO_DOMAIN).value_or(AF_UNSPEC);
  }
  return sockets;
}

}  // namespace cleave::monitor
