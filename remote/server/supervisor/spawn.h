// Starts a worker: this program again, with the same options and --worker.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

namespace cleave::remote::server {

struct Spawned {
  pid_t process = -1;  // -1: it could not be started
  int control = -1;    // the supervisor's end of the control socket (worker_messages.h); owned by the caller
};

// `neighbours` is the path of the file with the number of clients, which the worker's splitter reads.
Spawned spawn_worker(std::span<const char* const> arguments, const std::string& neighbours);

}  // namespace cleave::remote::server
