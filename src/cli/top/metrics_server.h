// The part of `cleave top --metrics` that needs the daemons' libraries.
#pragma once

#include <string>

namespace cleave::cli {

// See serve_metrics().
int run_metrics_server(const std::string& address, const std::string& registry);

// The page, in Prometheus' text format.
std::string metrics_page_of(const std::string& registry);

}  // namespace cleave::cli
