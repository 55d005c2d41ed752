#include "daemon/listening_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <optional>

#include <linux/vm_sockets.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/socket_address.h"
#include "daemon/service_manager.h"

#include <asio/ip/address.hpp>
#include <netinet/in.h>

namespace cleave::daemon {
namespace {

asio::ip::address ip_of(const base::Address& address) {
  asio::error_code error;
  auto ip = asio::ip::make_address(address.host, error);
  if (error) return asio::ip::address{};
  if (ip.is_v6() && ip.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, ip.to_v6());
  return ip;
}

[[noreturn]] void fail(int error, int family) {
  switch (error) {
    case EADDRINUSE:
      throw ListenError("another process listens there; stop it, or name another address");
    case EADDRNOTAVAIL:
      throw ListenError("no network of this host has that address; name one that has");
    case EACCES:
      throw ListenError("not allowed; name a port from 1024 on");
    case EAFNOSUPPORT:
    case ENODEV:
      throw ListenError(
          family == AF_VSOCK
              ? "this kernel has no vsock; load its module (vhost_vsock, for guests of this host), or "
                "leave the address out"
              : "this kernel does not support it; load its module, or leave the address out");
    default:
      throw ListenError(std::strerror(error));
  }
}

ListeningSocket bind_and_listen(const base::SocketAddress& address) {
  ListeningSocket result;
  result.family = address.storage.ss_family;
  result.socket =
      base::FileDescriptor(::socket(result.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int socket = result.socket.get();
  if (socket < 0) fail(errno, result.family);
  const int on = 1;
  if (result.family != AF_VSOCK) ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (result.family == AF_INET6) ::setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket, address.get(), address.size) != 0 || ::listen(socket, SOMAXCONN) != 0)
    fail(errno, result.family);
  return result;
}

// 0 if it is not a socket.
int socket_option(int fd, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : 0;
}

std::string unix_peer_text(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "a unix socket";
  return "user " + std::to_string(peer.uid) + ", process " + std::to_string(peer.pid);
}

struct NumericName {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
};

// Empty where the name is not TCP's.
std::optional<NumericName> numeric_name(const sockaddr_storage& name, socklen_t size) {
  NumericName result;
  const int error =
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&name), size, result.host.data(), result.host.size(),
                    result.port.data(), result.port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return error == 0 ? std::optional(result) : std::nullopt;
}

std::string unix_path(const sockaddr_storage& name, socklen_t size) {
  std::string path(reinterpret_cast<const sockaddr_un&>(name).sun_path,
                   size - offsetof(sockaddr_un, sun_path));
  if (!path.empty() && path.front() == '\0') path.front() = '@';
  path.resize(std::min(path.find('\0'), path.size()));  // the kernel counts the terminator of a path
  return path;
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
  if (address.kind == base::Address::Kind::unix_socket) return listen_on_path(address.path, options);
  std::string problem;
  const std::vector<base::SocketAddress> found = base::resolve(address, problem);
  if (found.empty()) throw ListenError("no such address (" + problem + ")");
  return bind_and_listen(found.front());
}

void check_inherited(int descriptor, const SocketKind& kind) {
  const std::string which = "descriptor " + std::to_string(descriptor) + " from the service manager is ";
  if (kind.type != SOCK_STREAM || !kind.listens)
    throw ListenError(which + "not a listening stream socket; fix its .socket unit");
  constexpr std::array kFamilies{AF_UNIX, AF_VSOCK, AF_INET, AF_INET6};
  if (std::find(kFamilies.begin(), kFamilies.end(), kind.family) == kFamilies.end())
    throw ListenError(which + "neither a unix nor a vsock nor an IP socket; fix its .socket unit");
}

std::vector<ListeningSocket> inherited_sockets() {
  const int count = take_inherited_descriptors();
  std::vector<ListeningSocket> sockets;
  for (int fd = kFirstInheritedDescriptor; fd < kFirstInheritedDescriptor + count; ++fd) {
    const SocketKind kind{socket_option(fd, SO_DOMAIN), socket_option(fd, SO_TYPE),
                          socket_option(fd, SO_ACCEPTCONN) == 1};
    check_inherited(fd, kind);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    // The service manager passes blocking sockets. Another process that shares one may accept what poll() reported.
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    ListeningSocket& taken = sockets.emplace_back();
    taken.socket = base::FileDescriptor(fd);
    taken.family = kind.family;
  }
  return sockets;
}

base::Address bound_address(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  base::Address address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return address;
  if (name.ss_family == AF_UNIX) {
    address.path = unix_path(name, size);
  } else if (name.ss_family == AF_VSOCK) {
    address.kind = base::Address::Kind::vsock;
    address.cid = reinterpret_cast<const sockaddr_vm&>(name).svm_cid;
    address.port = reinterpret_cast<const sockaddr_vm&>(name).svm_port;
  } else if (const auto numeric = numeric_name(name, size)) {
    address.kind = base::Address::Kind::tcp;
    address.host = numeric->host.data();
    address.port = static_cast<std::uint32_t>(std::stoul(numeric->port.data()));
  }
  return address;
}

std::string peer_text(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "a closed connection";
  if (name.ss_family == AF_UNIX) return unix_peer_text(socket);
  if (name.ss_family == AF_VSOCK)
    return "vsock " + std::to_string(reinterpret_cast<const sockaddr_vm&>(name).svm_cid);
  const auto numeric = numeric_name(name, size);
  if (!numeric) return "an unknown address";
  return std::string(numeric->host.data()) + (name.ss_family == AF_INET6 ? " port " : ":") +
         numeric->port.data();
}

}  // namespace cleave::daemon
