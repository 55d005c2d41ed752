#include "remote/client/link/servers.h"

#include <utility>

#include "base/log.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/link/connection.h"

namespace cleave::remote::client {
namespace {

void log_unreachable(const std::string& address, const std::string& problem) {
  std::string line = address;
  base::log_line(line.append(" is not in reach: ").append(problem));
}

}  // namespace

void Servers::connect_all(const base::RemoteSettings& settings) {
  settings_ = settings;
  for (const std::string& address : settings_.servers) {
    Server& server = servers_.emplace_back(address);
    std::string problem;
    server.connection = Connection::open(address, settings_, false,
                                         std::chrono::steady_clock::now() + settings_.timeout, problem);
    if (server.connection == nullptr) log_unreachable(address, problem);
  }
}

std::shared_ptr<Connection> Servers::current(std::size_t server) {
  const std::scoped_lock lock(servers_[server].mutex);
  return servers_[server].connection;
}

std::shared_ptr<Connection> Servers::connect(std::size_t number, Time until, std::string& problem) const {
  auto made = Connection::open(servers_[number].address, settings_, false, until, problem);
  if (made == nullptr || has_same_devices(number, made->welcome())) return made;
  problem = "its devices are others than before";
  made->leave();
  return nullptr;
}

std::shared_ptr<Connection> Servers::live_connection(std::size_t number, Time until) {
  Server& server = servers_[number];
  const std::scoped_lock lock(server.mutex);
  if (server.connection != nullptr && server.connection->alive()) return server.connection;
  if (std::chrono::steady_clock::now() >= until) return nullptr;
  std::string problem;
  auto made = connect(number, until, problem);
  if (made == nullptr) {
    if (!std::exchange(server.failure_logged, true)) log_unreachable(server.address, problem);
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
    if (const std::unique_lock lock(server.mutex, std::try_to_lock); lock) connection = server.connection;
    if (connection != nullptr) connection->flush();
  }
}

void Servers::lock() {
  for (Server& server : servers_) server.mutex.lock();
}

void Servers::unlock() {
  for (Server& server : servers_) server.mutex.unlock();
}

void Servers::close_in_child() {
  for (Server& server : servers_) {
    if (server.connection != nullptr) server.connection->close_in_child();
    for (const std::weak_ptr<Connection>& one : server.previous) {
      if (const auto previous = one.lock()) previous->close_in_child();
    }
    server.previous.clear();
    server.connection.reset();
  }
  unlock();
}

}  // namespace cleave::remote::client
