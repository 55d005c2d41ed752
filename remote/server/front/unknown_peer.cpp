#include "remote/server/front/unknown_peer.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include "base/files/discard.h"
#include "remote/transport/descriptor_passing.h"

namespace cleave::remote::server {
namespace {

// While bytes are left in the socket, poll() does not show that others have arrived. Clients send a Hello in one piece.
constexpr std::chrono::milliseconds kPeekPeriod{5};

// Where the next MSG_PEEK reads: so many bytes behind those that have been taken. -1: always the next bytes.
bool set_peek_offset(int socket, int offset) {
  return ::setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof offset) == 0;
}

}  // namespace

UnknownPeer::UnknownPeer(base::FileDescriptor socket) : socket_(std::move(socket)) {
  const int copy = ::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    const int error = errno;
    discard(std::move(socket_));
    throw std::system_error(error, std::generic_category(), "no descriptor for a connection");
  }
  stream_ = make_socket_stream(copy);
}

UnknownPeer::~UnknownPeer() {
  stream_.reset();
  discard(std::move(socket_));
}

ReadStatus UnknownPeer::read(std::span<std::byte> into, std::size_t& size, Time until) {
  while (true) {
    iovec part{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) {
      // Without room for them the kernel only says that there are some.
      const bool has_descriptors = (message.msg_flags & MSG_CTRUNC) != 0;
      if (left_ == 0 && !has_descriptors)
        return stream_->read(into.first(static_cast<std::size_t>(got)), size, until);
      left_ += static_cast<std::uint32_t>(got);
      if (!set_peek_offset(socket_.get(), static_cast<int>(left_))) return ReadStatus::closed;
      size = static_cast<std::size_t>(got);
      return ReadStatus::data;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return ReadStatus::closed;
    if (until == kNoWait || std::chrono::steady_clock::now() >= until) return ReadStatus::timeout;
    if (left_ == 0) {
      wait_for(socket_.get(), POLLIN, until);
    } else {
      std::this_thread::sleep_for(kPeekPeriod);
    }
  }
}

void UnknownPeer::leave() const { set_peek_offset(socket_.get(), -1); }

bool UnknownPeer::write(std::span<iovec> parts, Duration stall_timeout, const WhileBlocked& while_blocked) {
  return stream_->write(parts, stall_timeout, while_blocked);
}

}  // namespace cleave::remote::server
