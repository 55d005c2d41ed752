// Who listens, accepts, and keeps count: one thread that reads nothing from any client.
//
// Each connection is given to a process of its own (worker.h) before a byte of it is read. The number of
// those that have said who they are is written to a file, which the splitters in the workers follow: the
// clients are each other's neighbours.
#pragma once

#include "remote/server/options.h"

namespace cleave::remote::server {

// Runs until SIGTERM or SIGINT. The answer is the process's exit status. Throws OptionError.
int run_supervisor(const Options& options, std::span<const char* const> arguments);

}  // namespace cleave::remote::server
