// Whom a connection comes from, as far as limits go: the address of a host without its port, the network of an IPv6 address or of
// this host's loopback addresses (one peer may have all of it), the user of a unix socket's peer, or whose subordinate it is, the guest
// of a vsock address.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "daemon/subordinate_users.h"

namespace cleave::daemon {

// Who goes first where there is too little room for all. A host of the network may come from any number of addresses; users and
// guests of this host cannot make more of themselves.
enum class PeerRank : std::uint8_t {
  network,     // another host
  local,       // a user, a guest or a loopback address of this host
  privileged,  // root or the daemon's own user, on a unix socket
};
inline constexpr std::size_t kPeerRanks = 3;

struct Peer {
  std::string key;
  PeerRank rank = PeerRank::local;
};

// Of a connected socket. Never empty: connections of no known peer count as one peer's.
Peer peer_of(int socket);
// The key of that, but for each loopback address by itself, where one of them is not to keep out the others.
std::string peer_key(int socket);
// Of a user without privileges.
Peer user_peer(uid_t user, const SubordinateUsers& subordinates);

}  // namespace cleave::daemon
