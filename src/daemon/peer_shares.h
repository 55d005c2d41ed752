// Who of those that connect has a place. There are so many, and no peer may keep others out of them: where all are taken, one
// of the peer that has the most is given to a peer that has few.
//
// Decides only. Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace cleave::daemon {

class PeerShares {
 public:
  using Id = std::uint64_t;
  // What a newcomer finds where all places are taken, or all of its peer.
  enum class WhenFull : std::uint8_t {
    // A place of the peer with the most, the latest one, if the newcomer's peer has fewer even with it: those who are
    // connected for long stay.
    newcomers_wait,
    // The oldest place of the peer with the most, be it the newcomer's own: for what is over in a moment, unless it is slow.
    oldest_goes
  };

  // `per_peer`: 0: as many as there are.
  PeerShares(std::size_t places, std::size_t per_peer, WhenFull when_full)
      : places_(places), per_peer_(per_peer == 0 ? places : per_peer), when_full_(when_full) {}

  struct Place {
    bool granted = false;       // otherwise it must be closed, and is not known here
    std::optional<Id> instead;  // this one must be closed, and is no longer known
  };
  // A new connection; ids ascend.
  Place add(Id id, const std::string& peer);
  // It is closed. Nothing happens if it is not known.
  void remove(Id id);

  [[nodiscard]] std::size_t taken() const { return connections_.size(); }

 private:
  std::optional<Id> displaced_by(const std::string& peer) const;
  void count(const std::string& peer, std::size_t before, std::size_t now);

  const std::size_t places_;
  const std::size_t per_peer_;
  const WhenFull when_full_;
  std::map<Id, std::string> connections_;
  std::map<std::string, std::set<Id>> peers_;
  std::set<std::pair<std::size_t, std::string>> by_size_;  // the peers by their numbers of connections
};

}  // namespace cleave::daemon
