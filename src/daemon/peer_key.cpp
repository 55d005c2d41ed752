#include "daemon/peer_key.h"

#include <algorithm>
#include <array>
#include <unistd.h>

#include <linux/vm_sockets.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace cleave::daemon {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, address, text.data(), text.size()) != nullptr ? text.data() : "?";
}

bool is_loopback(in_addr address) { return (ntohl(address.s_addr) >> IN_CLASSA_NSHIFT) == IN_LOOPBACKNET; }

Peer ipv4_peer(in_addr address) {
  if (is_loopback(address)) return {"127.0.0.0/8", PeerRank::local};
  return {text_of(AF_INET, &address), PeerRank::network};
}

Peer ipv6_peer(in6_addr address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    in_addr inner{};
    std::copy_n(&address.s6_addr[12], sizeof inner, reinterpret_cast<std::uint8_t*>(&inner));
    return ipv4_peer(inner);
  }
  const PeerRank rank = IN6_IS_ADDR_LOOPBACK(&address) ? PeerRank::local : PeerRank::network;
  std::fill(std::begin(address.s6_addr) + kNetworkBytes, std::end(address.s6_addr), std::uint8_t{0});
  return {text_of(AF_INET6, &address) + "/64", rank};
}

Peer unix_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return {"a unix socket", PeerRank::local};
  if (peer.uid == 0 || peer.uid == ::geteuid())
    return {"user " + std::to_string(peer.uid), PeerRank::privileged};
  return user_peer(peer.uid, SubordinateUsers::of_system());
}

}  // namespace

Peer user_peer(uid_t user, const SubordinateUsers& subordinates) {
  if (const auto owner = subordinates.owner_of(user))
    return {"subordinate users of " + *owner, PeerRank::local};
  return {"user " + std::to_string(user), PeerRank::local};
}

Peer peer_of(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0)
    return {"unknown", PeerRank::network};
  switch (name.ss_family) {
    case AF_UNIX:
      return unix_peer(socket);
    case AF_INET:
      return ipv4_peer(reinterpret_cast<const sockaddr_in&>(name).sin_addr);
    case AF_INET6:
      return ipv6_peer(reinterpret_cast<const sockaddr_in6&>(name).sin6_addr);
    case AF_VSOCK:
      return {"vsock " + std::to_string(reinterpret_cast<const sockaddr_vm&>(name).svm_cid), PeerRank::local};
    default:
      return {"unknown", PeerRank::network};
  }
}

std::string peer_key(int socket) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  const bool known = ::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) == 0;
  return known && name.sin_family == AF_INET ? text_of(AF_INET, &name.sin_addr) : peer_of(socket).key;
}

}  // namespace cleave::daemon
