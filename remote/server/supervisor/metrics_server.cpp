#include "remote/server/supervisor/metrics_server.h"

#include <string_view>
#include <utility>

#include "daemon/metrics.h"

namespace cleave::remote::server {
namespace {

constexpr std::chrono::milliseconds kTimeout{5000};

}  // namespace

MetricsServer::MetricsServer(daemon::ListeningSocket socket, const ServerStatistics& statistics)
    : http_(
          [&statistics](std::string_view path) {
            if (path == "/metrics")
              return daemon::HttpAnswer{200, daemon::MetricList::kContentType, statistics.as_text()};
            return daemon::HttpAnswer{404, "text/plain", "only /metrics is here\n"};
          },
          kTimeout),
      listener_(context_, std::move(socket), kTimeout,
                [this](daemon::Stream stream) { http_.admit(std::move(stream)); }),
      thread_([this] { context_.run(); }) {}

MetricsServer::~MetricsServer() {
  context_.stop();
  thread_.join();
}

}  // namespace cleave::remote::server
