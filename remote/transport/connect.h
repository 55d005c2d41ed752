// The client's side: from an address to a connected stream.
//
// Thread-safe. Nothing throws.
#pragma once

#include "remote/transport/endpoint.h"
#include "remote/transport/stream.h"
#include "remote/transport/tls.h"

namespace cleave::remote {

// Resolves the host, connects, and for TLS makes the handshake and checks the certificate and its name. Returns before
// `until`, except for the lookup, whose time the system's resolver limits.
ConnectResult connect_to(const Endpoint& endpoint, const TlsFiles& tls, Time until);

}  // namespace cleave::remote
