// Starts a worker: this program again, with kWorkerArgument instead of options. It gets the supervisor's options as the first
// message on its control socket: it must not read a file that has been edited since, and they are in no other process's
// sight.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "daemon/options.h"

namespace cleave::remote::server {

// The most bytes of encoded options (worker_messages.h): they have to fit into the buffer of the control socket.
inline constexpr std::size_t kMaxOptionsSize = std::size_t{64} << 10U;

inline constexpr const char* kWorkerArgument = "--worker";

struct Spawned {
  pid_t process = -1;  // -1: it could not be started
  int control = -1;    // the supervisor's end of the control socket (worker_messages.h); owned by the caller
};

// `options` are those that were given (Options::given). `neighbours` is the path of the file with the number of clients, which
// the worker's splitter reads. On failure errno says why.
Spawned spawn_worker(const std::vector<daemon::GivenValue>& options, const std::string& neighbours);

}  // namespace cleave::remote::server
