#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "remote/transport/stream.h"
#include "remote/transport/stream_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace cleave::remote {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxParts = 64;  // of one sendmsg(2); less than IOV_MAX

// Removes `size` bytes from the front.
std::span<iovec> without(std::span<iovec> parts, std::size_t size) {
  while (!parts.empty() && size >= parts.front().iov_len) {
    size -= parts.front().iov_len;
    parts = parts.subspan(1);
  }
  if (!parts.empty()) {
    parts.front().iov_base = static_cast<std::byte*>(parts.front().iov_base) + size;
    parts.front().iov_len -= size;
  }
  return parts;
}

// The system answers EFAULT for memory that is protected, where a driver's copy raises a fault for which the program may have a handler
// (the write barrier of a garbage collector). So the memory is touched here, which raises that fault, a bounded number of times in a
// call. Nothing is lost: the system has taken no byte that it could not copy.
class Faults {
 public:
  // Incoming data overwrites what is written here. False: too often in this call.
  bool before_reading(std::span<std::byte> into) {
    for_each_page(into, [](volatile std::byte& byte) { byte = std::byte{}; });
    return ++met_ < kMost;
  }
  bool before_writing(std::span<const iovec> parts) {
    for (const iovec& part : parts) {
      for_each_page({static_cast<std::byte*>(part.iov_base), part.iov_len},
                    [](volatile std::byte& byte) { static_cast<void>(std::byte{byte}); });
    }
    return ++met_ < kMost;
  }

 private:
  static constexpr int kMost = 1000;
  static constexpr std::size_t kLeastPage = 4096;

  template <typename Touch>
  static void for_each_page(std::span<std::byte> memory, Touch touch) {
    for (std::size_t at = 0; at < memory.size(); at += kLeastPage) touch(memory[at]);
    if (!memory.empty()) touch(memory.back());
  }

  int met_ = 0;
};

class SocketStream final : public Stream {
 public:
  SocketStream(int socket, Process process) : socket_(socket, process) {
    const int on = 1;
    ::setsockopt(descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // other sockets refuse it
    ::fcntl(descriptor(), F_SETFL, ::fcntl(descriptor(), F_GETFL) | O_NONBLOCK);
  }

  ReadStatus read(std::span<std::byte> into, std::size_t& size, Time until) override {
    if (!socket_.was_ours_lately()) return ReadStatus::closed;
    Faults faults;
    while (true) {
      const ssize_t got = ::recv(descriptor(), into.data(), into.size(), 0);
      if (got > 0) {
        size = static_cast<std::size_t>(got);
        return ReadStatus::data;
      }
      if (got < 0 && errno == EFAULT && faults.before_reading(into)) continue;
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) return ReadStatus::closed;
      if (errno == EINTR) continue;
      if (until == kNoWait || !wait_for(descriptor(), POLLIN, until)) return ReadStatus::timeout;
      if (!is_ours()) return ReadStatus::closed;
    }
  }

  bool write(std::span<iovec> parts, Duration stall_timeout, const WhileBlocked& while_blocked) override {
    while (true) {
      if (!write_some(parts)) return false;
      if (parts.empty()) return true;
      if (!wait_until_writable(descriptor(), stall_timeout, while_blocked)) return false;
    }
  }

  bool write_some(std::span<iovec>& parts) override {
    parts = without(parts, 0);
    Faults faults;
    while (!parts.empty()) {
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = std::min(parts.size(), kMaxParts);
      if (!is_ours()) return false;
      const ssize_t sent = ::sendmsg(descriptor(), &message, MSG_NOSIGNAL);
      if (sent >= 0) {
        parts = without(parts, static_cast<std::size_t>(sent));
      } else if (errno != EINTR && (errno != EFAULT || !faults.before_writing(parts))) {
        return errno == EAGAIN;
      }
    }
    return true;
  }
  [[nodiscard]] bool can_write_some() const override { return true; }

  bool has_data() override {
    std::byte byte{};
    return ::recv(descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  std::optional<LinkMeasure> measure() override { return measure_tcp(descriptor()); }

  void shutdown() override { socket_.shutdown(); }
  [[nodiscard]] bool is_ours() override { return socket_.is_ours(); }
  void close() override { socket_.close(); }
  [[nodiscard]] int descriptor() const override { return socket_.get(); }

 private:
  StreamSocket socket_;
};

}  // namespace

std::unique_ptr<Stream> make_socket_stream(int socket, Process process) {
  return std::make_unique<SocketStream>(socket, process);
}

int milliseconds_until(Time until) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
  return static_cast<int>(
      std::clamp<milliseconds::rep>(left.count(), 0, milliseconds(std::chrono::hours(24)).count()));
}

bool wait_until_writable(int socket, Duration stall_timeout, const WhileBlocked& while_blocked) {
  constexpr int kChecks = 8;
  constexpr Duration kBlockedCheckPeriod = std::chrono::milliseconds(1);
  const Duration look =
      while_blocked ? std::min(stall_timeout / kChecks, kBlockedCheckPeriod) : stall_timeout / kChecks;
  Time until = steady_clock::now() + stall_timeout;
  int before = -1;
  while (!wait_for(socket, POLLOUT, std::min(until, steady_clock::now() + look))) {
    if (while_blocked) {
      const Time started = steady_clock::now();
      while_blocked();
      until += steady_clock::now() - started;
    }
    int left = 0;  // bytes in the send queue
    if (::ioctl(socket, SIOCOUTQ, &left) == 0) {
      if (left < before) until = steady_clock::now() + stall_timeout;
      before = left;
    }
    if (steady_clock::now() >= until) return false;
  }
  return true;
}

bool wait_for(int descriptor, short events, Time until) {
  pollfd waited{descriptor, events, 0};
  while (true) {
    const int ready = ::poll(&waited, 1, milliseconds_until(until));
    if (ready > 0) return true;
    if (ready == 0 && steady_clock::now() >= until) return false;
    if (ready < 0 && errno != EINTR && errno != EAGAIN)
      return true;  // the next call on the descriptor returns the error
  }
}

}  // namespace cleave::remote
