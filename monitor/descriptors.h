// How the descriptors that the daemon may open are shared out. Clients get what the others leave, so that no number of them keeps
// the metrics from being served or the hypervisors from being connected.
#pragma once

#include <cstddef>

#include "monitor/options.h"

namespace cleave::monitor {

// Limits the clients and the connections for metrics to what fits, if `limit` descriptors may be open and `open` are. At least one
// of each.
void limit_connections(Options& options, std::size_t limit, std::size_t open);

// Raises the limit of this process, if it may, to what the options need. Returns the limit.
std::size_t raise_descriptor_limit(const Options& options);

// How many descriptors are open.
std::size_t open_descriptors();

}  // namespace cleave::monitor
