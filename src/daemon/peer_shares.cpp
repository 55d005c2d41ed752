#include "daemon/peer_shares.h"

namespace cleave::daemon {

void PeerShares::count(const std::string& peer, const Connections& of, std::size_t before) {
  auto& by_size = by_size_[static_cast<std::size_t>(of.rank)];
  if (before != 0) by_size.erase({before, peer});
  if (!of.ids.empty()) by_size.emplace(of.ids.size(), peer);
}

// The peer with the most connections among those of this rank; null if there is none.
const std::pair<std::size_t, std::string>* PeerShares::heaviest(PeerRank rank) const {
  const auto& by_size = by_size_[static_cast<std::size_t>(rank)];
  return by_size.empty() ? nullptr : &*by_size.rbegin();
}

// The peer that loses a place to a newcomer whose peer has `has`; empty: none.
std::optional<std::string> PeerShares::loser(std::size_t has, PeerRank rank) const {
  const bool brief = when_full_ == WhenFull::oldest_goes;
  const std::pair<std::size_t, std::string>* most = nullptr;
  for (const PeerRank each : {PeerRank::network, PeerRank::local, PeerRank::privileged}) {
    const auto* const found = heaviest(each);
    if (found == nullptr) continue;
    if (!brief && each < rank) return found->second;
    if (!brief && each == PeerRank::privileged && rank != PeerRank::privileged) continue;
    if (most == nullptr || found->first > most->first) most = found;
  }
  if (most == nullptr || (!brief && most->first <= has + 1)) return std::nullopt;
  return most->second;
}

std::optional<PeerShares::Id> PeerShares::displaced_by(const Peer& peer) const {
  const auto own = peers_.find(peer.key);
  const std::size_t has = own != peers_.end() ? own->second.ids.size() : 0;
  const bool brief = when_full_ == WhenFull::oldest_goes;
  if (has >= per_peer_) return brief ? std::optional(*own->second.ids.begin()) : std::nullopt;
  const auto from = loser(has, peer.rank);
  if (!from) return std::nullopt;
  const std::set<Id>& ids = peers_.at(*from).ids;
  if (!brief) return *ids.rbegin();
  return *(has == ids.size() ? own->second.ids : ids).begin();
}

PeerShares::Place PeerShares::add(Id id, const Peer& peer) {
  const auto own = peers_.find(peer.key);
  const std::size_t has = own != peers_.end() ? own->second.ids.size() : 0;
  Place place;
  if (connections_.size() >= places_ || has >= per_peer_) {
    place.instead = displaced_by(peer);
    if (!place.instead) return place;
    remove(*place.instead);
  }
  place.granted = true;
  connections_.emplace(id, peer.key);
  Connections& all = peers_.try_emplace(peer.key, Connections{peer.rank, {}}).first->second;
  all.ids.insert(id);
  count(peer.key, all, all.ids.size() - 1);
  return place;
}

void PeerShares::remove(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto of = peers_.find(found->second);
  of->second.ids.erase(id);
  count(of->first, of->second, of->second.ids.size() + 1);
  if (of->second.ids.empty()) peers_.erase(of);
  connections_.erase(found);
}

void PeerShares::set_limits(std::size_t places, std::size_t per_peer) {
  places_ = places;
  per_peer_ = per_peer == 0 ? places : per_peer;
}

}  // namespace cleave::daemon
