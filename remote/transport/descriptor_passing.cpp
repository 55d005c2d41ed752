#include "remote/transport/descriptor_passing.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <poll.h>

#include <sys/socket.h>

namespace cleave::remote {
namespace {

bool send_rest(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd waited{socket, POLLOUT, 0};
      ::poll(&waited, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool send_with_descriptors(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors) {
  assert(!bytes.empty() && descriptors.size() <= kMaxDescriptors);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = -1;
  while (sent < 0) {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent >= 0) break;
    if (errno != EINTR && errno != EAGAIN) return false;
    pollfd waited{socket, POLLOUT, 0};
    ::poll(&waited, 1, -1);
  }
  return send_rest(socket, bytes.subspan(static_cast<std::size_t>(sent)));
}

bool send_with_descriptor(int socket, std::span<const std::byte> bytes, int descriptor) {
  return send_with_descriptors(socket, bytes, std::span(&descriptor, 1));
}

long receive_with_descriptors(int socket, std::span<std::byte> into,
                              std::vector<base::FileDescriptor>& descriptors, int flags) {
  descriptors.clear();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxDescriptors)] = {};
  iovec part{into.data(), into.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int one = -1;
      std::memcpy(&one, CMSG_DATA(header) + i * sizeof one, sizeof one);
      descriptors.emplace_back(one);
    }
  }
  return got;
}

long receive_with_descriptor(int socket, std::span<std::byte> into, int& descriptor, int flags) {
  std::vector<base::FileDescriptor> descriptors;
  const long got = receive_with_descriptors(socket, into, descriptors, flags);
  descriptor = descriptors.empty() ? -1 : descriptors.front().release();
  return got;
}

}  // namespace cleave::remote
