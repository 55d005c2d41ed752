// Takes connections from one listening socket and hands them on, ready for use: they do not block, and the
// kernel keeps little for them.
//
// Lives in the event loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "monitor/asio.h"
#include "monitor/listening.h"

namespace cleave::monitor {

class Listener {
 public:
  using ConnectionHandler = std::function<void(Stream)>;

  // Begins to take connections. A TCP peer that acknowledges nothing for `patience` is given up by the
  // kernel.
  Listener(asio::io_context& context, ListeningSocket socket, std::chrono::milliseconds patience,
           ConnectionHandler handler);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() = default;

  // Takes no more; closes the socket and removes its file.
  void stop();

  // Where it listens, for the log: tcp:127.0.0.1:27460.
  [[nodiscard]] std::string where() const;

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

}  // namespace cleave::monitor
