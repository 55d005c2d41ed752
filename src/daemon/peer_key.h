// The peer of a connection, for limits: the address of a host without its port; the network of an IPv6 address or of
// this host's loopback addresses, all of which one peer may have; the user of a unix socket's peer, or the owner of that subordinate id;
// the guest of a vsock address.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "daemon/subordinate_users.h"

namespace cleave::daemon {

// The order of precedence if there is not enough room for all. A host of the network may use any number of addresses; users and
// guests of this host cannot multiply themselves.
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
// The same, but with a key for each loopback address, if one of them must not keep out the others.
std::string peer_key(int socket);
// Of a user without privileges.
Peer user_peer(uid_t user, const SubordinateUsers& subordinates);

}  // namespace cleave::daemon
