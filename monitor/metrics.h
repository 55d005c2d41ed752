// The daemon's metrics for Prometheus, and the health check. Numbers only, no names of domains.
#pragma once

#include <string>

#include "daemon/http.h"
#include "monitor/hub.h"
#include "monitor/totals.h"

namespace cleave::monitor {

// In the text format. Counts that are not known are left out, so that a graph has a gap and not a zero.
std::string metrics(const Totals& totals, const Hub& hub);

// /metrics, and /healthz: status 200, or 503 while no hypervisor is connected.
daemon::HttpAnswer metrics_page(std::string_view path, const Totals& totals, const Hub& hub);

}  // namespace cleave::monitor
