// A mock server: a UNIX socket on which it reads what the client under test sends, and answers by a script.
//
// It never lets a client wait for long: as soon as nothing comes from the client, it sends the missing answers or ends the
// connection. A correct server has no missing answers, and waits.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "script.h"

namespace cleave::fuzz::answers {

// The listening socket of one server. It is never closed.
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

// Serves clients until it is stopped, one after the other.
class Server {
 public:
  Server(const ListeningSocket& listening_socket, const Script& script, unsigned number);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // after the last client has disconnected

 private:
  void run();

  const ListeningSocket& listening_socket_;
  const Script& script_;
  const unsigned number_;
  const int stop_;
  std::thread thread_;
};

}  // namespace cleave::fuzz::answers
