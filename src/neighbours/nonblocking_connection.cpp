#include "neighbours/nonblocking_connection.h"

#include <cassert>
#include <cerrno>
#include <poll.h>
#include <string>
#include <unistd.h>

#include "base/files/own_descriptors.h"

namespace cleave::neighbours {
namespace {

constexpr std::size_t kMaxDestinations = 8;

}  // namespace

std::vector<base::SocketAddress> destinations_of(const base::Address& address) {
  std::string unused;
  std::vector<base::SocketAddress> destinations = base::resolve(address, unused);
  if (destinations.size() > kMaxDestinations) destinations.resize(kMaxDestinations);
  return destinations;
}

void NonblockingConnection::open(const base::SocketAddress& destination) {
  const int family = destination.storage.ss_family;
  socket_.open(
      base::open_high([family] { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }));
  if (socket_.get() < 0) return drop(errno);
  if (connect(socket_.get(), destination.get(), destination.size) == 0) {
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
