#include "remote/server/supervisor/places.h"

namespace cleave::remote::server {

Obstacle obstacle_for(const Introduction& newcomer, const std::vector<Occupant>& served, std::size_t lost,
                      const PlaceLimits& limits) {
  const Grant& grant = newcomer.grant;
  const bool is_query = newcomer.client.is_query;
  std::size_t clients = lost;
  std::size_t of_peer = 0;
  std::size_t of_tenant = 0;
  for (const Occupant& each : served) {
    if (each.is_query != is_query) continue;
    ++clients;
    of_peer += each.peer_key == newcomer.peer_key ? 1 : 0;
    of_tenant += each.tenant == grant.tenant ? 1 : 0;
  }
  // An obstacle that concerns only the client's own name comes last: it is no reason to hold others up.
  const bool has_others = clients - lost != of_tenant;
  if (!is_query && has_others && !limits.mixes_tenants) return Obstacle::other_names;
  if (clients >= limits.clients) return Obstacle::clients;
  if (limits.per_peer != 0 && of_peer >= limits.per_peer) return Obstacle::peer;
  const bool has_all_sessions = grant.sessions != 0 && of_tenant >= grant.sessions;
  return !is_query && has_all_sessions ? Obstacle::sessions : Obstacle::none;
}

std::string text_of(Obstacle obstacle, const std::string& tenant) {
  switch (obstacle) {
    case Obstacle::none:
      break;
    case Obstacle::clients:
      return "too many clients";
    case Obstacle::peer:
      return "too many clients of its address or user";
    case Obstacle::sessions:
      return "too many sessions of " + tenant;
    case Obstacle::other_names:
      return "a client of another name is served, or waits";
  }
  return {};
}

bool WaitingList::has_place_for(const Introduction& newcomer) const {
  const auto count = [&](auto matches) {
    return static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(), [&](const Entry& each) {
      return matches(each.newcomer.introduction);
    }));
  };
  const std::size_t share = std::max<std::size_t>(most_ / 2, 1);
  const std::string& tenant = newcomer.grant.tenant;
  return waiting_.size() < most_ &&
         count([&](const Introduction& each) { return each.peer_key == newcomer.peer_key; }) < share &&
         (tenant.empty() ||
          count([&](const Introduction& each) { return each.grant.tenant == tenant; }) < share);
}

}  // namespace cleave::remote::server
