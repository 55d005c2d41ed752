// What takes for ever to close: a TCP connection whose peer reads nothing, with data that is under way and a long SO_LINGER.
#pragma once

#include <unistd.h>
#include <vector>

#include <sys/socket.h>

#include <netinet/in.h>

namespace kit {

class LingeringSockets {
 public:
  LingeringSockets() {
    const int small = 2048;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, SOMAXCONN);
  }

  LingeringSockets(const LingeringSockets&) = delete;
  LingeringSockets& operator=(const LingeringSockets&) = delete;
  ~LingeringSockets() {
    release();
    ::close(listener_);
  }

  // Another one, which the caller closes.
  int make() {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int small = 4096;
    ::setsockopt(made, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    ::connect(made, reinterpret_cast<sockaddr*>(&address), size);
    peers_.push_back(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    const std::vector<char> data(65536);
    ::send(made, data.data(), data.size(), MSG_DONTWAIT);
    const linger an_hour{1, 3600};
    ::setsockopt(made, SOL_SOCKET, SO_LINGER, &an_hour, sizeof an_hour);
    return made;
  }

  // Closes the other ends: nothing lingers any more.
  void release() {
    for (const int peer : peers_) ::close(peer);
    peers_.clear();
  }

 private:
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::vector<int> peers_;
};

}  // namespace kit
