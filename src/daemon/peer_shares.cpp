#include "daemon/peer_shares.h"

namespace cleave::daemon {

void PeerShares::count(const std::string& peer, std::size_t before, std::size_t now) {
  if (before != 0) by_size_.erase({before, peer});
  if (now != 0) by_size_.emplace(now, peer);
}

// Empty: none.
std::optional<PeerShares::Id> PeerShares::displaced_by(const std::string& peer) const {
  const auto own = peers_.find(peer);
  const std::size_t has = own != peers_.end() ? own->second.size() : 0;
  if (when_full_ == WhenFull::oldest_goes && has >= per_peer_) return *own->second.begin();
  if (by_size_.empty() || has >= per_peer_) return std::nullopt;
  const auto& [most, heaviest] = *by_size_.rbegin();
  const std::set<Id>& of_heaviest = peers_.at(heaviest);
  if (when_full_ == WhenFull::oldest_goes) return *(has == most ? own->second : of_heaviest).begin();
  return most > has + 1 ? std::optional(*of_heaviest.rbegin()) : std::nullopt;
}

PeerShares::Place PeerShares::add(Id id, const std::string& peer) {
  const auto own = peers_.find(peer);
  const std::size_t has = own != peers_.end() ? own->second.size() : 0;
  Place place;
  if (connections_.size() >= places_ || has >= per_peer_) {
    place.instead = displaced_by(peer);
    if (!place.instead) return place;
    remove(*place.instead);
  }
  place.granted = true;
  connections_.emplace(id, peer);
  std::set<Id>& all = peers_[peer];
  all.insert(id);
  count(peer, all.size() - 1, all.size());
  return place;
}

void PeerShares::remove(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto of = peers_.find(found->second);
  of->second.erase(id);
  count(of->first, of->second.size() + 1, of->second.size());
  if (of->second.empty()) peers_.erase(of);
  connections_.erase(found);
}

}  // namespace cleave::daemon
