// Serves /metrics over HTTP.
#pragma once

#include <string>
#include <thread>

#include "daemon/http.h"
#include "daemon/listener.h"
#include "remote/server/supervisor/statistics.h"

namespace cleave::remote::server {

// Answers from a thread of its own, which is joined at the end. Thread-safe.
class MetricsServer {
 public:
  // `statistics` must outlive the server.
  MetricsServer(daemon::ListeningSocket socket, const ServerStatistics& statistics);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  ~MetricsServer();

  // Where it listens, for the log.
  [[nodiscard]] std::string address() const { return listener_.address(); }

 private:
  asio::io_context context_{1};
  daemon::HttpServer http_;
  daemon::Listener listener_;
  std::thread thread_;
};

}  // namespace cleave::remote::server
