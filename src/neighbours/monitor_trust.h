// Whether what listens at a monitor's address is one to believe, as far as the system says who it is.
//
//   - a unix socket: the kernel says which user began to listen there. `system` believes root and the user of this process;
//     `owner` believes the owner of the folder as well in which the socket lies, since that one decides who can put a socket
//     there: a service's own user in its runtime folder, but nobody else in /tmp. An abstract name has no folder;
//   - vsock: the kernel says that it is the host, which the guest trusts with everything, but not which of its users. Ports below
//     1024 are root's. `system` believes only those;
//   - TCP: nothing is known. `system` believes nobody there.
//
// What is believed is bounded all the same: kMaxBelievedVms (staleness.h).
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <string>

#include "base/address.h"
#include "base/settings.h"

namespace cleave::neighbours {

// `socket` is connected to `address`. Empty, or why it is not believed.
std::string reason_for_distrust(int socket, const base::Address& address, base::MonitorTrust trust);

}  // namespace cleave::neighbours
