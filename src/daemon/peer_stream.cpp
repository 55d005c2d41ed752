#include "daemon/peer_stream.h"

#include <cerrno>

#include <sys/socket.h>

#include "base/files/discard.h"

namespace cleave::daemon {
namespace {

std::size_t failed(ErrorCode& error) {
  error = ErrorCode(errno, asio::error::get_system_category());
  return 0;
}

}  // namespace

std::size_t read_from_peer(Stream& stream, std::span<char> into, ErrorCode& error) {
  error = {};
  const int socket = stream.native_handle();
  iovec part{into.data(), into.size()};
  msghdr message{};  // without room for descriptors: the kernel only reports that there are some
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t seen = ::recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT);
  if (seen < 0) return failed(error);
  if (seen == 0) {
    error = asio::error::eof;
    return 0;
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    error = asio::error::access_denied;
    return 0;
  }
  // Not more than was seen: later data may have descriptors.
  const ssize_t got = ::recv(socket, into.data(), static_cast<std::size_t>(seen), MSG_DONTWAIT);
  return got < 0 ? failed(error) : static_cast<std::size_t>(got);
}

void close_peer(Stream& stream) noexcept {
  if (!stream.is_open()) return;
  ErrorCode error;
  stream.shutdown(Stream::shutdown_both, error);  // the peer need not wait for the other thread
  const int socket = stream.release(error);
  if (error) {
    stream.close(error);
    return;
  }
  base::discard(base::FileDescriptor(socket));
}

}  // namespace cleave::daemon
