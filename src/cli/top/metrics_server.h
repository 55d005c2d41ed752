// The part of `cleave top --metrics` that needs the daemons' libraries.
#pragma once

#include <string>

#include "cli/top/energy.h"

namespace cleave::cli {

// See serve_metrics().
int run_metrics_server(const std::string& address, const std::string& registry);

// The page, in Prometheus' text format. `energy` may be null.
std::string metrics_page_of(const std::string& registry, const EnergyMeters* energy);

}  // namespace cleave::cli
