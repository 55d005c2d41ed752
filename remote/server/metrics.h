// Serves /metrics to one reader after the other, on a thread of its own.
#pragma once

#include "remote/server/tally.h"

namespace cleave::remote::server {

// Takes the listening socket over. `tally` must live as long as the process.
void serve_metrics(int socket, const Tally& tally);

}  // namespace cleave::remote::server
