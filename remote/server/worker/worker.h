// A worker: a process that serves one client. It loads the driver, gets a connection from its supervisor (standard input),
// and exits when the client disconnects. The exit frees all that the client had, whatever state that is in.
#pragma once

#include "remote/server/options.h"

namespace cleave::remote::server {

// Returns the process's exit status, or ends the process itself.
int run_worker(const Options& options);

}  // namespace cleave::remote::server
