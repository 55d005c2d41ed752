// The address of a server: unix:PATH, tcp:HOST:PORT or vsock:CID:PORT as in base/address.h, or tls:HOST:PORT, which is TLS
// over TCP. tcp: and tls: without a port mean kPort (protocol/features.h).
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

// Empty if the text has none of the four forms.
std::optional<Endpoint> read_endpoint(std::string_view text);

// The inverse of read_endpoint().
std::string as_text(const Endpoint& endpoint);

// Whether the connection stays on this machine or, for vsock, between it and its host, so that no network can read it.
bool is_private(const Endpoint& endpoint);

}  // namespace cleave::remote
