// The client's end: from an address to a connected stream.
//
// Thread-safe. Nothing throws.
#pragma once

#include <memory>
#include <string>

#include "remote/transport/endpoint.h"
#include "remote/transport/stream.h"

namespace cleave::remote {

// For TLS; paths of PEM files. Not used otherwise.
struct TlsFiles {
  std::string
      authority;  // who must have signed the peer's certificate; empty for a client: the system's list
  std::string certificate;  // our own, with its chain; empty: none
  std::string key;
};

struct ConnectResult {
  std::unique_ptr<Stream> stream;  // null: `problem` says why, for people, without the address
  std::string problem;
};

// Looks the host up, connects, and for TLS shakes hands and checks the certificate and its name. All of it
// takes at most until `until`, but for the lookup, which the system's resolver limits.
ConnectResult connect_to(const Endpoint& endpoint, const TlsFiles& tls, Time until);

}  // namespace cleave::remote
