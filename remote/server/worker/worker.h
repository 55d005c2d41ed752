// A process that serves one client. It loads the driver, waits for a connection from its supervisor (standard
// input), and ends with it: with the process everything goes that the client had, whatever state it is in.
#pragma once

#include "remote/server/options.h"

namespace cleave::remote::server {

// Does not come back but with an exit status.
int run_worker(const Options& options);

}  // namespace cleave::remote::server
