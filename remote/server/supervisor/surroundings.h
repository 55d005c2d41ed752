// What workers find on this machine: their users, and the files that they share with the server.
//
// Not thread-safe: before there are threads.
#pragma once

#include <string>

#include "remote/server/options/options.h"
#include "remote/server/sandbox/sandbox.h"

namespace cleave::remote::server {

// Mistakes in the options that would keep every worker from starting are reported at the start of the server. Throws OptionError.
void check_for_workers(const Options& options);

// `count` is the path of the file with the number of clients; empty: there is none.
SharedFiles shared_files(const Options& options, const std::string& count);

}  // namespace cleave::remote::server
