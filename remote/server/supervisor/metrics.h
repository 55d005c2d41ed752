// Serves /metrics to one reader after the other, on a thread of its own.
#pragma once

#include "remote/server/supervisor/statistics.h"

namespace cleave::remote::server {

// Takes the listening socket over. `statistics` must live as long as the process.
void serve_metrics(int socket, const ServerStatistics& statistics);

}  // namespace cleave::remote::server
