#include "remote/server/supervisor/statistics.h"

#include "daemon/metrics.h"

namespace cleave::remote::server {

std::string ServerStatistics::as_text() const {
  daemon::MetricList list;
  const auto gauge = [&](const char* name, const char* help, std::uint64_t value) {
    list.gauge(name, help, static_cast<double>(value));
  };
  const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
    list.counter(name, help, static_cast<double>(value));
  };
  gauge("cleave_server_clients", "Clients that are connected now.", clients);
  gauge("cleave_server_max_clients", "The maximum number of clients at a time.", max_clients);
  gauge("cleave_server_waiting", "Clients that wait for a place now.", waiting);
  counter("cleave_server_connections_total", "Connections that were accepted.", front.connections);
  counter("cleave_server_admitted_total", "Clients that were admitted.", admitted);
  counter("cleave_server_queries_total", "Connections that only asked for the devices.", queries);
  counter("cleave_server_refused_total", "Connections refused in the handshake.", front.refused);
  counter("cleave_server_rejected_total",
          "Connections closed at once because too many were in their handshake.", front.rejected);
  counter("cleave_server_fetched_from_total", "Contents that other servers have fetched from this one.",
          front.fetched_from);
  counter("cleave_server_protocol_violations_total",
          "Clients that violated the protocol, as their workers say.", violations);
  counter("cleave_server_refused_by_workers_total",
          "Clients that were refused after that, as their workers say.", refused_by_workers);
  counter("cleave_server_crashed_total", "Workers that were ended by a signal.", crashed);
  return list.as_text();
}

}  // namespace cleave::remote::server
