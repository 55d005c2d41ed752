// The servers, and the connection on which each of them is spoken to now.
//
// A connection that has ended never comes back: what was made on it answers kConnectionLost until it is released. What
// is new, a context or sub-devices, is made on a new connection, which live_connection() opens where the last one has
// ended, if the server offers the same devices as before: so the program's handles of devices, and what it
// has been told of them, stay true.
//
// fork(): the child has none of the parent's connections, and reaches for new ones like any process.
//
// Thread-safe. While a thread connects to a server others that reach for it wait for that one, and so does
// fork().
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/settings.h"
#include "remote/transport/stream.h"

namespace cleave::remote::client {

class Connection;

class Servers {
 public:
  // Connects to all of them, once. What is not in reach then has no devices, now and later.
  void connect_all(const base::RemoteSettings& settings);

  [[nodiscard]] std::size_t count() const { return servers_.size(); }
  [[nodiscard]] std::chrono::milliseconds timeout() const { return settings_.timeout; }

  // The connection as it is, possibly at its end. Null: there never was one, or it was the parent's.
  [[nodiscard]] std::shared_ptr<Connection> current(std::size_t server);

  // A connection that has not ended. Null: it has, and no other one was to be had until then.
  std::shared_ptr<Connection> live_connection(std::size_t server, Time until);

  // Sends what has been gathered; leaves a server out that another thread is connecting to.
  void flush();

  void lock();  // around fork()
  void unlock();
  void close_in_child();  // in the child, instead of unlock()

 private:
  struct Server {
    explicit Server(std::string the_address) : address(std::move(the_address)) {}
    const std::string address;
    std::mutex mutex;  // guards what follows; held while connecting
    std::shared_ptr<Connection> connection;
    std::vector<std::weak_ptr<Connection>> previous;  // what was made on them keeps them
    bool failure_logged = false;                      // of what keeps us from it now
  };

  std::shared_ptr<Connection> connect(std::size_t number, Time until, std::string& problem) const;

  base::RemoteSettings settings_;
  std::deque<Server> servers_;
};

}  // namespace cleave::remote::client
