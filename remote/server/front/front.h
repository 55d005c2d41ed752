// The front: the process that unauthenticated peers reach. It accepts connections, terminates TLS, reads the Hello,
// checks the token, and announces authenticated clients to the supervisor. It alone holds tokens and keys, and it runs
// no client's code.
//
// A connection costs a descriptor until its peer has sent something, and a thread until it is admitted or refused (arrivals.h).
#pragma once

namespace cleave::remote::server {

// From its supervisor, to which standard input leads, it gets options and listening sockets (processes/packets.h).
// Returns the process's exit status when the supervisor has ended. Throws OptionError.
int run_front();

}  // namespace cleave::remote::server
