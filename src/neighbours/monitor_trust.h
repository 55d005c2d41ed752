// Whether to believe what listens at a monitor's address, by what the system knows of its owner.
//
//   - a unix socket: the kernel knows which user began to listen there. `system` believes root and the user of this process;
//     `owner` also believes the owner of the folder in which the socket lies, since that user decides who can put a socket
//     there: a service's own user in its runtime folder, but no other user in /tmp. An abstract name has no folder;
//   - vsock: the kernel knows that it is the host, which the guest trusts with everything, but not which of its users. Ports below
//     1024 are root's. `system` believes only those;
//   - TCP: nothing is known. `system` believes no monitor there.
//
// Believed counts are bounded nevertheless: kMaxBelievedVms (staleness.h).
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <string>

#include "base/address.h"
#include "base/settings/settings.h"

namespace cleave::neighbours {

// `socket` is connected to `address`. Empty, or why it is not believed.
std::string reason_for_distrust(int socket, const base::Address& address, base::MonitorTrust trust);

}  // namespace cleave::neighbours
