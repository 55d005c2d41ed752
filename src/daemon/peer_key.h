// Whom a connection comes from, as far as limits go: the address of a host without its port, the network of an IPv6 address (one
// peer may have all of it), the user of a unix socket's peer, the guest of a vsock address.
//
// Thread-safe.
#pragma once

#include <string>

namespace cleave::daemon {

// Of a connected socket. Never empty: connections of no known peer count as one peer's.
std::string peer_key(int socket);

}  // namespace cleave::daemon
