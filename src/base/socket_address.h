// An address as the system calls take it.
//
// Thread-safe: plain functions of their arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/address.h"

namespace cleave::base {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Whether it leads to this machine whatever its network: a unix socket, or a loopback address of IPv4, also in IPv6's
// form, IPv6 or vsock.
bool is_loopback(const SocketAddress& address);

// A unix socket's. A path that begins with "@" is a name in the abstract namespace; one that is too long is truncated.
SocketAddress unix_address(std::string_view path);

// What to connect to or to listen on, in the order in which to try it. TCP uses the system's resolver, which blocks if
// the host is given by name. Empty: there is no such host; `problem` has the resolver's message.
std::vector<SocketAddress> resolve(const Address& address, std::string& problem);

}  // namespace cleave::base
