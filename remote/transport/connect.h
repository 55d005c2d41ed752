// The client's side: from an address to a connected stream.
//
// Thread-safe. Nothing throws.
#pragma once

#include <memory>
#include <string>

#include "remote/transport/endpoint.h"
#include "remote/transport/stream.h"

namespace cleave::remote {

// Paths of PEM files, for TLS.
struct TlsFiles {
  std::string
      authority;  // that must have signed the peer's certificate; empty for a client: the system's authorities
  std::string certificate;  // our own, with its chain; empty: none
  std::string key;
};

struct ConnectResult {
  std::unique_ptr<Stream> stream;  // null: `problem` says why, for people, without the address
  std::string problem;
};

// Resolves the host, connects, and for TLS makes the handshake and checks the certificate and its name. Returns before
// `until`, but for the lookup, whose time the system's resolver limits.
ConnectResult connect_to(const Endpoint& endpoint, const TlsFiles& tls, Time until);

}  // namespace cleave::remote
