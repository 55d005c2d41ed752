// The list of servers, and the current connection to each.
//
// A connection that has ended is not revived: objects on it return kConnectionLost until they are released. New contexts
// and sub-devices are created on a new connection, which live_connection() opens if the last one has ended and the server
// still offers the same devices: so the program's device handles, and what it knows of them, stay valid.
//
// fork(): the child has none of the parent's connections and opens new ones when it needs them.
//
// Thread-safe. A server's mutex is held while connecting to it: other threads that need it wait, and so does fork().
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/settings/settings.h"
#include "base/threads/mutex.h"
#include "remote/protocol/messages.h"
#include "remote/transport/stream.h"

namespace cleave::remote::client {

class Connection;

class Servers {
 public:
  // Whether a server offers the devices that it offered at first.
  using HasSameDevices = bool (*)(std::size_t server, const wire::Welcome& welcome);

  // Connects to all of them, once and before other calls. A server that is not reachable then has no devices later.
  void connect_all(const base::RemoteSettings& settings, HasSameDevices has_same_devices);

  [[nodiscard]] std::size_t count() const { return servers_.size(); }
  [[nodiscard]] const std::string& address(std::size_t server) const { return servers_[server].address; }
  [[nodiscard]] std::chrono::milliseconds timeout() const { return settings_.timeout; }

  // The connection as it is; it may have ended. Null: there was none, or it was the parent process's.
  [[nodiscard]] std::shared_ptr<Connection> current(std::size_t server);

  // A connection that has not ended. Null: it has, and no new one could be opened in time.
  std::shared_ptr<Connection> live_connection(std::size_t server, Time until);

  // At the end of the process: returns when the sockets have taken all commands (Connection::flush_all()). Skips servers that
  // another thread is connecting to.
  void flush();

  // Around fork() (base/threads/fork_locks.h).
  void lock();
  void unlock();
  void close_in_child();

 private:
  struct Server {
    explicit Server(std::string the_address) : address(std::move(the_address)) {}
    const std::string address;
    base::Mutex mutex;
    std::shared_ptr<Connection> connection CLEAVE_GUARDED_BY(mutex);
    std::vector<std::weak_ptr<Connection>> previous CLEAVE_GUARDED_BY(mutex);  // kept by objects on them
    bool failure_logged CLEAVE_GUARDED_BY(mutex) = false;                      // since the last connection
  };

  std::shared_ptr<Connection> connect(std::size_t number, Time until, std::string& problem) const;

  base::RemoteSettings settings_;
  HasSameDevices has_same_devices_ = nullptr;
  std::deque<Server> servers_;
};

}  // namespace cleave::remote::client
