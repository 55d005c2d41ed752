// A server that a harness plays: a unix socket on which it takes what the client under test sends, and says
// what a plan says that it says.
//
// It never lets a client wait for long: what it owes and does not give, it gives, or the connection ends, as
// soon as nothing comes from the client. A server of good faith owes nothing, and waits.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "script.h"

namespace cleave::fuzz::answers {

// The socket on which the clients of one server arrive. The process has it for good.
class ListeningSocket {
 public:
  explicit ListeningSocket(unsigned number);
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  // The next client's socket; -1: none came before `stop` became readable.
  [[nodiscard]] int next(int stop) const;

 private:
  std::string address_;
  int socket_;
};

// Serves all who come until its end, one after the other.
class Server {
 public:
  Server(const ListeningSocket& door, const Script& plan, unsigned number);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // when no client is there any more

 private:
  void run();

  const ListeningSocket& listening_socket_;
  const Script& script_;
  const unsigned number_;
  const int stop_;
  std::thread thread_;
};

}  // namespace cleave::fuzz::answers
