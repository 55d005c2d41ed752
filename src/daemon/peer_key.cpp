#include "daemon/peer_key.h"

#include <algorithm>
#include <array>

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

std::string ipv6_key(in6_addr address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return text_of(AF_INET, &address.s6_addr[12]);
  std::fill(std::begin(address.s6_addr) + kNetworkBytes, std::end(address.s6_addr), std::uint8_t{0});
  return text_of(AF_INET6, &address) + "/64";
}

std::string user_key(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return "a unix socket";
  return "user " + std::to_string(peer.uid);
}

}  // namespace

std::string peer_key(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "unknown";
  switch (name.ss_family) {
    case AF_UNIX:
      return user_key(socket);
    case AF_INET:
      return text_of(AF_INET, &reinterpret_cast<const sockaddr_in&>(name).sin_addr);
    case AF_INET6:
      return ipv6_key(reinterpret_cast<const sockaddr_in6&>(name).sin6_addr);
    case AF_VSOCK:
      return "vsock " + std::to_string(reinterpret_cast<const sockaddr_vm&>(name).svm_cid);
    default:
      return "unknown";
  }
}

}  // namespace cleave::daemon
