#include "remote/server/supervisor/statistics.h"

namespace cleave::remote::server {
namespace {

void add(std::string& text, const char* name, const char* type, const char* help, std::uint64_t value) {
  const std::string full = std::string("cleave_server_") + name;
  text += "# HELP " + full + " " + help + "\n# TYPE " + full + " " + type + "\n" + full + " " +
          std::to_string(value) + "\n";
}

}  // namespace

std::string ServerStatistics::as_text() const {
  std::string text;
  add(text, "clients", "gauge", "Clients that are served now.", clients);
  add(text, "most_clients", "gauge", "How many there may be.", most_clients);
  add(text, "connections_total", "counter", "Connections that were accepted.", connections);
  add(text, "admitted_total", "counter", "Clients that were let in.", admitted);
  add(text, "visitors_total", "counter", "Connections that only asked what there is.", queries);
  add(text, "refused_total", "counter", "Connections without a right to be served.", refused);
  add(text, "turned_away_total", "counter", "Connections closed at once since too many were new.", rejected);
  add(text, "hostile_total", "counter", "Clients that broke the protocol.", violations);
  add(text, "crashed_total", "counter", "Workers that ended by a signal.", crashed);
  return text;
}

}  // namespace cleave::remote::server
