// A socket of the test's own that plays the monitor's side, in the abstract namespace or at a path.
#pragma once

#include <cerrno>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/address.h"

namespace cleave::neighbours {

class FakeMonitor {
 public:
  FakeMonitor() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    static int number = 0;
    name_ = "cleave-test-" + std::to_string(getpid()) + "-" + std::to_string(++number);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
  }
  FakeMonitor(const FakeMonitor&) = delete;
  FakeMonitor& operator=(const FakeMonitor&) = delete;
  ~FakeMonitor() {
    hang_up();
    close(socket_);
  }

  base::Address address() const { return *base::parse_address("unix:@" + name_); }

  // Accepts a pending connection, if there is one; say() writes to it from then on.
  bool answer() {
    const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return false;
    hang_up();
    client_ = client;
    return true;
  }

  // False if the peer has closed the connection.
  bool say(const std::string& text) const {
    return send(client_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  void hang_up() {
    if (client_ >= 0) close(client_);
    client_ = -1;
  }

 private:
  int socket_;
  int client_ = -1;
  std::string name_;
};

}  // namespace cleave::neighbours
