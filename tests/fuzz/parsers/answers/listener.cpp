#include "listener.h"

#include <cstring>
#include <poll.h>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../harness.h"
#include "mock_connection.h"

namespace cleave::fuzz::answers {

ListeningSocket::ListeningSocket(unsigned number)
    : address_("@cleave-answers-" + std::to_string(::getpid()) + "-" + std::to_string(number)),
      socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  address_.copy(name.sun_path + 1, address_.size() - 1, 1);  // after a zero byte: an abstract socket
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  require(::bind(socket_, reinterpret_cast<const sockaddr*>(&name), size) == 0 && ::listen(socket_, 16) == 0,
          "there is a socket to listen on");
  address_.insert(0, "unix:");
}

int ListeningSocket::next(int stop) const {
  pollfd waited[2]{{socket_, POLLIN, 0}, {stop, POLLIN, 0}};
  while (::poll(waited, 2, -1) < 0) {
  }
  return waited[0].revents == 0 ? -1 : ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
}

Server::Server(const ListeningSocket& listening_socket, const Script& script, unsigned number)
    : listening_socket_(listening_socket),
      script_(script),
      number_(number),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  thread_ = std::thread([this] { run(); });
}

Server::~Server() {
  const std::uint64_t one = 1;
  require(::write(stop_, &one, sizeof one) == sizeof one, "a server can be stopped");
  thread_.join();
  ::close(stop_);
}

void Server::run() {
  ScriptProgress progress{script_, script_.faults[number_], number_};
  for (int socket = listening_socket_.next(stop_); socket >= 0; socket = listening_socket_.next(stop_)) {
    MockConnection(socket, progress).run();
  }
}

}  // namespace cleave::fuzz::answers
