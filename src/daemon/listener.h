// Accepts connections on one listening socket and passes them to a handler, configured: non-blocking, with small kernel
// buffers.
//
// For the event loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "daemon/asio.h"
#include "daemon/listening_socket.h"

namespace cleave::daemon {

class Listener {
 public:
  using ConnectionHandler = std::function<void(Stream)>;

  // Starts accepting. The kernel closes the connection of a TCP peer that acknowledges nothing for `patience`.
  Listener(asio::io_context& context, ListeningSocket socket, std::chrono::milliseconds patience,
           ConnectionHandler handler);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() = default;

  // Stops accepting; closes the socket and removes its file.
  void stop();

  // For the log: tcp:127.0.0.1:27460.
  [[nodiscard]] std::string address() const;

 private:
  void accept();
  void retry_accept();
  void configure(Stream& stream) const;

  ListeningSocket socket_;  // without the descriptor, which is the acceptor's
  Acceptor acceptor_;
  asio::steady_timer retry_;
  std::chrono::milliseconds patience_;
  ConnectionHandler handler_;
};

}  // namespace cleave::daemon
