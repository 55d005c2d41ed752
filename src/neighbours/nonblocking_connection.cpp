#include "neighbours/nonblocking_connection.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <string>
#include <unistd.h>

#include <linux/vm_sockets.h>
#include <sys/un.h>

namespace cleave::neighbours {
namespace {

constexpr std::size_t kMaxDestinations = 8;

template <typename Socket>
Destination destination_of(const Socket& socket, std::size_t size = sizeof(Socket)) {
  Destination destination;
  std::memcpy(&destination.address, &socket, size);
  destination.size = static_cast<socklen_t>(size);
  return destination;
}

Destination unix_destination(const std::string& path) {
  sockaddr_un socket{};
  socket.sun_family = AF_UNIX;
  path.copy(socket.sun_path, sizeof socket.sun_path - 1);
  // A name in the abstract namespace has a zero byte in front, and ends with the address.
  const bool abstract = path.front() == '@';
  if (abstract) socket.sun_path[0] = '\0';
  return destination_of(socket, offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
}

Destination vsock_destination(const base::Address& address) {
  sockaddr_vm socket{};
  socket.svm_family = AF_VSOCK;
  socket.svm_cid = address.cid;
  socket.svm_port = address.port;
  return destination_of(socket);
}

std::vector<Destination> tcp_destinations(const base::Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  std::vector<Destination> destinations;
  for (const addrinfo* each = found; each != nullptr && destinations.size() < kMaxDestinations;
       each = each->ai_next) {
    Destination destination;
    if (each->ai_addrlen > sizeof destination.address) continue;
    std::memcpy(&destination.address, each->ai_addr, each->ai_addrlen);
    destination.size = each->ai_addrlen;
    destinations.push_back(destination);
  }
  return destinations;
}

}  // namespace

std::vector<Destination> destinations_of(const base::Address& address) {
  switch (address.kind) {
    case base::Address::Kind::unix_socket:
      return {unix_destination(address.path)};
    case base::Address::Kind::vsock:
      return {vsock_destination(address)};
    case base::Address::Kind::tcp:
      break;
  }
  return tcp_destinations(address);
}

void NonblockingConnection::open(const Destination& destination) {
  socket_.open(socket(destination.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket_.get() < 0) return drop(errno);
  const auto* const address = reinterpret_cast<const sockaddr*>(&destination.address);
  if (connect(socket_.get(), address, destination.size) == 0) {
    state_ = State::open;
  } else if (errno == EINPROGRESS || errno == EINTR) {
    state_ = State::opening;
  } else {
    drop(errno);
  }
}

void NonblockingConnection::poll_connect() {
  if (state_ != State::opening) return;
  if (!socket_.is_valid()) return drop(EBADF);
  pollfd waiting{socket_.get(), POLLOUT, 0};
  if (poll(&waiting, 1, 0) <= 0) return;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return drop(error);
  state_ = State::open;
}

long NonblockingConnection::read(char* buffer, std::size_t size) {
  assert(state_ == State::open);
  if (!socket_.is_valid()) return drop(EBADF), -1;
  const ssize_t got = recv(socket_.get(), buffer, size, MSG_DONTWAIT);
  if (got > 0) return got;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return drop(got < 0 ? errno : 0), -1;
}

void NonblockingConnection::drop(int error) {
  socket_.close();
  state_ = State::closed;
  error_ = error;
}

}  // namespace cleave::neighbours
