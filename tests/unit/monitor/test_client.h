// The far end of a connection, as a test sees it.
#pragma once

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include <sys/socket.h>

#include "base/files/file_descriptor.h"
#include "base/socket_address.h"

namespace cleave::monitor {

class TestClient {
 public:
  explicit TestClient(base::FileDescriptor socket) : socket_(std::move(socket)) {}

  // Connects to a unix socket; connected() is false if that failed.
  static TestClient to(const std::string& path) {
    base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const base::SocketAddress name = base::unix_address(path);
    if (::connect(socket.get(), name.get(), name.size) != 0) return TestClient(base::FileDescriptor());
    return TestClient(std::move(socket));
  }
  [[nodiscard]] bool connected() const { return socket_.get() >= 0; }

  void say(std::string_view text) const { ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  void shutdown_write() const { ::shutdown(socket_.get(), SHUT_WR); }
  void leave() { socket_ = base::FileDescriptor(); }

  // All that has come since the last call; does not wait.
  std::string received() {
    std::string text;
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got == 0) gone_ = true;
      if (got < 0 && errno != EAGAIN) gone_ = true;
      if (got <= 0) return text;
      text.append(bytes.data(), static_cast<std::size_t>(got));
    }
  }
  // Whether the other side had hung up, when received() was called last.
  [[nodiscard]] bool gone() const { return gone_; }

 private:
  base::FileDescriptor socket_;
  bool gone_ = false;
};

}  // namespace cleave::monitor
