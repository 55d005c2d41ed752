// Opens the sockets that a daemon listens on, or takes those that the service manager has opened. Errors are ListenError
// (socket.h).
#pragma once

#include <string>
#include <vector>

#include "base/address.h"
#include "daemon/socket.h"
#include "daemon/unix_socket.h"

namespace cleave::daemon {

// The socket file of a daemon that has died is replaced, that of a running one is not. A missing folder is created, its
// parent is not. TCP host names are resolved. Throws ListenError.
ListeningSocket listen_on(const base::Address& address, const UnixSocketOptions& options);

// The sockets that the service manager has opened (service_manager.h); none where it has not. Only the first call gets
// them. Throws ListenError as check_inherited() does.
std::vector<ListeningSocket> inherited_sockets();

struct SocketKind {
  int family = 0;  // AF_UNSPEC: not a socket
  int type = 0;    // SOCK_STREAM and so on
  bool listens = false;
};

// Throws ListenError unless a daemon can listen on a socket of this kind: a stream socket that listens, of a family whose
// addresses are known. With others it would be unknown where clients can connect from, and so how they must authenticate.
void check_inherited(int descriptor, const SocketKind& kind);

// The address to which a socket is bound, with the port that the system chose.
base::Address bound_address(int socket);

// The peer of an accepted socket, for the log: "127.0.0.1:40312", "user 1000, process 4711", "vsock 5".
std::string peer_text(int socket);

// Whether the address accepts connections from every network of the host. TCP only: vsock reaches guests alone.
bool is_wildcard(const base::Address& address);

// Whether only processes of this host can reach the address. A TCP host name counts as reachable from elsewhere.
bool is_local(const base::Address& address);

// Whether a TCP address is an IP address, and not a name.
bool is_numeric(const base::Address& address);

}  // namespace cleave::daemon
