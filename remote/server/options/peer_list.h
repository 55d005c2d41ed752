// The servers from which this one may fetch contents (--peers). Clients choose the addresses, so nothing but this list keeps them
// from having the server connect to whatever it can reach.
//
// Thread-safe once made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "remote/transport/endpoint.h"

namespace cleave::remote::server {

class PeerList {
 public:
  // tcp:HOST[:PORT] or tls:HOST[:PORT], where HOST may be an address with the size of its network, such as tcp:10.1.0.0/16 or
  // tls:[fd00::]/64:27461. Without a port it is the usual one. False: it is none of these.
  bool add(std::string_view text);
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  // Whether it may be connected to: its host is in a network that is listed, or listed by name. Other names are not
  // even looked up, since a lookup would reveal them to others.
  [[nodiscard]] bool permits(const Endpoint& endpoint) const;

 private:
  using Bytes = std::array<std::uint8_t, 16>;
  // Addresses of IPv4 as IPv6 maps them.
  struct Network {
    Bytes bytes{};
    unsigned bits = 0;  // of `bytes` that count
  };
  struct Entry {
    bool tls = false;
    std::uint32_t port = 0;
    std::string name;  // empty: a network
    Network network;
  };
  static bool read_network(const std::string& host, std::string_view size, Network& network);

  std::vector<Entry> entries_;
};

}  // namespace cleave::remote::server
