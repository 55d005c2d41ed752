// Which connections have a place. The number of places is limited, and no peer may keep others out: if all are taken,
// one of the peer that has the most is given to a peer that has few. Peers of this host go before those of the network,
// which may use any number of addresses. Root and the daemon's own user go before all others, which cannot take their
// places.
//
// Decides only. Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "daemon/peer_key.h"

namespace cleave::daemon {

class PeerShares {
 public:
  using Id = std::uint64_t;
  // The place that a new connection takes if all places are taken, or all of its peer.
  enum class WhenFull : std::uint8_t {
    // The latest place of the peer with the most among those of a lower rank; else of the peer with the most, if the
    // new connection's peer then still has fewer: long-lived connections stay.
    newcomers_wait,
    // The oldest place of the peer with the most, including the new connection's own: for short-lived connections, of which slow ones go.
    oldest_goes
  };

  // `per_peer`: 0: no limit.
  PeerShares(std::size_t places, std::size_t per_peer, WhenFull when_full) : when_full_(when_full) {
    set_limits(places, per_peer);
  }

  struct Place {
    bool granted = false;       // otherwise it must be closed, and is not known here
    std::optional<Id> instead;  // this one must be closed, and is no longer known
  };
  // A new connection; ids ascend.
  Place add(Id id, const Peer& peer);
  // It is closed. Nothing happens if it is not known.
  void remove(Id id);

  // From now on. Nothing is closed.
  void set_limits(std::size_t places, std::size_t per_peer);

  [[nodiscard]] std::size_t taken() const { return connections_.size(); }

 private:
  struct Connections {
    PeerRank rank;
    std::set<Id> ids;
  };

  std::optional<Id> displaced_by(const Peer& peer) const;
  std::optional<std::string> loser(std::size_t has, PeerRank rank) const;
  const std::pair<std::size_t, std::string>* heaviest(PeerRank rank) const;
  void count(const std::string& peer, const Connections& of, std::size_t before);

  std::size_t places_ = 0;
  std::size_t per_peer_ = 0;
  const WhenFull when_full_;
  std::map<Id, std::string> connections_;
  std::map<std::string, Connections> peers_;
  // The peers of each rank by their numbers of connections.
  std::array<std::set<std::pair<std::size_t, std::string>>, kPeerRanks> by_size_;
};

}  // namespace cleave::daemon
