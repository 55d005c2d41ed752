// Starts the server's other processes: this program again, with one argument instead of options (processes/received_options.h). Their
// control socket is their standard input, and what a worker reports goes into a pipe, its standard output: a worker may
// run its client's code, and no descriptors can be passed over a pipe. Its standard error is a pipe, too: the server's
// log may be a file, which it could empty. They get their options as the first message on their control socket: they
// must not read a file that has been edited since, and no other process can see the options.
//
// Not thread-safe: for the supervisor's thread.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "daemon/options.h"
#include "remote/server/sandbox/sandbox.h"

namespace cleave::remote::server {

struct Spawned {
  pid_t process = -1;  // -1: it could not be started
  int control =
      -1;  // the supervisor's end of the control socket; of a worker only to send; owned by the caller
  int reports = -1;  // of a worker: its reports, read without waiting, one message at a time; the caller's
  int errors = -1;   // of a worker: its standard error, read in the same way; the caller's
};

// `options` are those that it needs (Options::given). `neighbours` is the path of the file with the number of clients,
// which a worker's splitter reads; empty: none. `launch`: the isolation of a worker, or the user of a broker. On
// failure errno says why.
Spawned spawn(const char* argument, const std::vector<daemon::GivenValue>& options,
              const std::string& neighbours, const Launch* launch = nullptr);

// Without those that name secrets, and where the server listens.
std::vector<daemon::GivenValue> options_of_workers(const std::vector<daemon::GivenValue>& options);

}  // namespace cleave::remote::server
