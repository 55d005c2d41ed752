// What the daemon tells Prometheus, in its text format, and the health check. Numbers only, as to clients.
#pragma once

#include <string>

#include "daemon/http.h"
#include "monitor/hub.h"
#include "monitor/totals.h"

namespace cleave::monitor {

// The format's version 0.0.4. What is not known is left out, so that a graph has a gap there and not a zero.
std::string metrics(const Totals& totals, const Hub& hub);

// /metrics, and /healthz: status 200, or 503 while no hypervisor is connected.
daemon::HttpAnswer metrics_page(std::string_view path, const Totals& totals, const Hub& hub);

}  // namespace cleave::monitor
