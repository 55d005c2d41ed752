// The server's end: from an address to a socket that listens, and who it is that connected.
//
// Thread-safe. Nothing throws.
#pragma once

#include <string>

#include <sys/types.h>

#include "remote/transport/endpoint.h"

namespace cleave::remote {

struct Listening {
  int socket = -1;  // the caller's; -1: `problem` says why, for people, without the address
  std::string problem;
  Endpoint endpoint;  // with the port that the system chose, where it was 0
};

// A unix socket that is left over from a server that is gone is taken over; one that is in use is not. `mode`
// is for unix sockets.
Listening listen_on(const Endpoint& endpoint, mode_t mode);

// For the log: "127.0.0.1:40312", "user 1000, process 4711", "vsock 5". Of an accepted socket.
std::string peer_of(int socket);

}  // namespace cleave::remote
