#include "remote/client/link/servers.h"

#include <utility>

#include "base/log.h"
#include "remote/client/link/connection.h"

namespace cleave::remote::client {
namespace {

void log_unusable(const std::string& address, const std::string& problem) {
  std::string line = address;
  base::log_line(line.append(" cannot be used: ").append(problem));
}

}  // namespace

void Servers::connect_all(const base::RemoteSettings& settings, HasSameDevices has_same_devices) {
  settings_ = settings;
  has_same_devices_ = has_same_devices;
  for (const std::string& address : settings_.servers) {
    Server& server = servers_.emplace_back(address);
    std::string problem;
    const base::MutexLock lock(server.mutex);
    server.connection = Connection::open(address, settings_, false,
                                         std::chrono::steady_clock::now() + settings_.timeout, problem);
    if (server.connection == nullptr) log_unusable(address, problem);
  }
}

std::shared_ptr<Connection> Servers::current(std::size_t server) {
  Server& one = servers_[server];
  const base::MutexLock lock(one.mutex);
  return one.connection;
}

std::shared_ptr<Connection> Servers::connect(std::size_t number, Time until, std::string& problem) const {
  auto made = Connection::open(servers_[number].address, settings_, false, until, problem);
  if (made == nullptr || has_same_devices_(number, made->welcome())) return made;
  problem = "its devices have changed";
  made->close();
  return nullptr;
}

std::shared_ptr<Connection> Servers::live_connection(std::size_t number, Time until) {
  Server& server = servers_[number];
  const base::MutexLock lock(server.mutex);
  if (server.connection != nullptr && server.connection->is_usable()) return server.connection;
  if (std::chrono::steady_clock::now() >= until) return nullptr;
  std::string problem;
  auto made = connect(number, until, problem);
  if (made == nullptr) {
    if (!std::exchange(server.failure_logged, true)) log_unusable(server.address, problem);
    return nullptr;
  }
  server.failure_logged = false;
  std::erase_if(server.previous, [](const std::weak_ptr<Connection>& one) { return one.expired(); });
  if (server.connection != nullptr) server.previous.push_back(server.connection);
  return server.connection = std::move(made);
}

void Servers::flush() {
  for (Server& server : servers_) {
    std::shared_ptr<Connection> connection;
    if (!server.mutex.try_lock()) continue;
    connection = server.connection;
    server.mutex.unlock();
    if (connection != nullptr) connection->flush_all();
  }
}

// The analysis does not follow locks taken in a loop.
void Servers::lock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  for (Server& server : servers_) server.mutex.lock();
}

void Servers::unlock() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  for (Server& server : servers_) server.mutex.unlock();
}

void Servers::close_in_child() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  for (Server& server : servers_) {
    if (server.connection != nullptr) server.connection->close_in_child();
    for (const std::weak_ptr<Connection>& one : server.previous) {
      if (const auto previous = one.lock()) previous->close_in_child();
    }
    server.previous.clear();
    server.connection.reset();
  }
}

}  // namespace cleave::remote::client
