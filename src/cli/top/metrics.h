// What processes and tenants have had of the devices, for Prometheus: `cleave top --metrics`. It is read from the registry at
// each request, so nothing runs between two of them; what a tenant's ended processes have had is kept in the files of turns.
#pragma once

#include <string>

namespace cleave::cli {

// Serves /metrics and /healthz until a signal ends it. `address`: on loopback, or unix:PATH. Returns the exit status: 0, or 1
// with a line on standard error if it cannot listen.
int serve_metrics(const std::string& address, const std::string& registry);

}  // namespace cleave::cli
