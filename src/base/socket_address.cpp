#include "base/socket_address.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <memory>
#include <netdb.h>

#include <linux/vm_sockets.h>
#include <sys/un.h>

#include "base/files/own_descriptors.h"

#include <netinet/in.h>

namespace cleave::base {
namespace {

SocketAddress copy_of(const void* address, std::size_t size) {
  SocketAddress copy;
  assert(size <= sizeof copy.storage);
  std::memcpy(&copy.storage, address, size);
  copy.size = static_cast<socklen_t>(size);
  return copy;
}

SocketAddress vsock_address(const Address& address) {
  sockaddr_vm name{};
  name.svm_family = AF_VSOCK;
  name.svm_cid = address.cid;
  name.svm_port = address.port;
  return copy_of(&name, sizeof name);
}

std::vector<SocketAddress> look_up(const Address& address, std::string& problem) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const HeldStandardNumbers held;  // the resolver has sockets and files of its own
  const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    problem = ::gai_strerror(error);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    addresses.push_back(copy_of(one->ai_addr, one->ai_addrlen));
  return addresses;
}

bool is_loopback(const in_addr& ip) { return ntohl(ip.s_addr) >> 24U == IN_LOOPBACKNET; }

bool is_loopback(const in6_addr& ip) {
  if (!IN6_IS_ADDR_V4MAPPED(&ip)) return IN6_IS_ADDR_LOOPBACK(&ip);
  constexpr std::size_t kPrefix = 12;
  in_addr mapped{};
  std::memcpy(&mapped, &ip.s6_addr[kPrefix], sizeof mapped);
  return is_loopback(mapped);
}

}  // namespace

bool is_loopback(const SocketAddress& address) {
  switch (address.storage.ss_family) {
    case AF_UNIX:
      return true;
    case AF_INET:
      return is_loopback(reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr);
    case AF_INET6:
      return is_loopback(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
    case AF_VSOCK:
      return reinterpret_cast<const sockaddr_vm&>(address.storage).svm_cid == VMADDR_CID_LOCAL;
    default:
      return false;
  }
}

SocketAddress unix_address(std::string_view path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::size_t length = path.copy(name.sun_path, sizeof name.sun_path - 1);
  // A name in the abstract namespace has a zero byte in front, and ends with the address.
  const bool abstract = path.starts_with('@');
  if (abstract) name.sun_path[0] = '\0';
  return copy_of(&name, offsetof(sockaddr_un, sun_path) + length + (abstract ? 0 : 1));
}

std::vector<SocketAddress> resolve(const Address& address, std::string& problem) {
  switch (address.kind) {
    case Address::Kind::unix_socket:
      return {unix_address(address.path)};
    case Address::Kind::vsock:
      return {vsock_address(address)};
    case Address::Kind::tcp:
      break;
  }
  return look_up(address, problem);
}

}  // namespace cleave::base
