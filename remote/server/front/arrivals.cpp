#include "remote/server/front/arrivals.h"

#include <algorithm>
#include <cassert>

namespace cleave::remote::server {

std::optional<Arrivals::Id> Arrivals::oldest_of_heaviest(std::size_t but_more_than) const {
  std::size_t most = 0;
  for (const auto& [name, peer] : peers_) most = std::max(most, peer.waiting.size());
  if (most <= but_more_than) return std::nullopt;
  std::optional<Id> oldest;
  for (const auto& [id, each] : connections_) {  // oldest first
    if (each.state == State::greeted || peers_.at(each.peer).waiting.size() != most) continue;
    if (each.state == State::silent) return id;
    if (!oldest) oldest = id;
  }
  return oldest;
}

Arrivals::Place Arrivals::add(Id id, const std::string& peer) {
  assert(!connections_.contains(id));
  Place place;
  const auto known = peers_.find(peer);
  const std::size_t has = known != peers_.end() ? known->second.waiting.size() : 0;
  if (has >= limits_.waiting_per_peer) return place;
  if (waiting() >= limits_.waiting) {
    place.instead = oldest_of_heaviest(has);
    if (!place.instead) return place;
    remove(*place.instead);
  }
  place.may_wait = true;
  connections_[id] = {peer};
  peers_[peer].waiting.push_back(id);
  return place;
}

void Arrivals::has_spoken(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.state != State::silent) return;
  found->second.state = State::spoken;
  peers_[found->second.peer].spoken.push_back(id);
}

std::optional<Arrivals::Id> Arrivals::next() {
  if (greeted_ >= limits_.greeted) return std::nullopt;
  const auto is_next = [this](const auto& each) {
    return !each.second.spoken.empty() && each.second.greeted < limits_.greeted_per_peer;
  };
  const auto after = peers_.upper_bound(latest_);
  auto chosen = std::find_if(after, peers_.end(), is_next);
  if (chosen == peers_.end()) {
    chosen = std::find_if(peers_.begin(), after, is_next);
    if (chosen == after) return std::nullopt;
  }
  auto& [name, peer] = *chosen;
  const Id id = peer.spoken.front();
  peer.spoken.pop_front();
  std::erase(peer.waiting, id);
  ++peer.greeted;
  ++greeted_;
  connections_[id].state = State::greeted;
  latest_ = name;
  return id;
}

void Arrivals::remove(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const auto of = peers_.find(found->second.peer);
  Peer& peer = of->second;
  if (found->second.state == State::greeted) {
    --peer.greeted;
    --greeted_;
  } else {
    std::erase(peer.waiting, id);
    std::erase(peer.spoken, id);
  }
  if (peer.waiting.empty() && peer.greeted == 0) peers_.erase(of);
  connections_.erase(found);
}

}  // namespace cleave::remote::server
