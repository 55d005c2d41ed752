// The supervisor: listens, accepts, starts workers and counts clients, in one thread that reads nothing from clients.
//
// Each connection is passed to a process of its own (worker/worker.h) before a byte of it is read. The number of admitted
// clients is written to a file that the splitters in the workers read: the clients are each other's neighbours.
#pragma once

#include "remote/server/options/options.h"

namespace cleave::remote::server {

// Runs until SIGTERM or SIGINT. Returns the process's exit status. Throws OptionError and daemon::ListenError.
int run_supervisor(const Options& options);

}  // namespace cleave::remote::server
