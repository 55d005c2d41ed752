// Where a server is: unix:PATH, tcp:HOST:PORT, vsock:CID:PORT as base/address.h reads them, and
// tls:HOST:PORT, which is TLS over TCP. Without a port, tcp: and tls: mean kPort (protocol/features.h).
//
// Thread-safe: plain functions of their arguments; nothing is looked up or opened here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"

namespace cleave::remote {

struct Endpoint {
  base::Address address;
  bool tls = false;

  bool operator==(const Endpoint&) const = default;
};

// Empty where the text is none of the four forms.
std::optional<Endpoint> read_endpoint(std::string_view text);

// The text that read_endpoint() takes.
std::string as_text(const Endpoint& endpoint);

// Whether who is there can only be on this machine or, for vsock, on its host: what goes there cannot be read
// on a network.
bool is_private(const Endpoint& endpoint);

}  // namespace cleave::remote
