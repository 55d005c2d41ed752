// A worker: a process that serves one client. From its supervisor, to which standard input leads, it gets the options, loads
// the driver, gets a connection, and exits when the client disconnects. The exit frees all that the client had, whatever
// state that is in.
#pragma once

namespace cleave::remote::server {

// Returns the process's exit status, or ends the process itself. Throws OptionError.
int run_worker();

}  // namespace cleave::remote::server
