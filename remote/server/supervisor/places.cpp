#include "remote/server/supervisor/places.h"

namespace cleave::remote::server {

std::string reason_against(const Introduction& newcomer, const std::vector<Occupant>& served,
                           std::size_t lost, const PlaceLimits& limits) {
  const Grant& grant = newcomer.grant;
  const bool is_query = newcomer.client.is_query;
  std::size_t clients = lost;
  std::size_t of_peer = 0;
  std::size_t of_tenant = 0;
  bool has_others = false;
  for (const Occupant& each : served) {
    if (each.is_query != is_query) continue;
    ++clients;
    of_peer += each.peer_key == newcomer.peer_key ? 1 : 0;
    of_tenant += each.tenant == grant.tenant ? 1 : 0;
    has_others = has_others || each.tenant != grant.tenant;
  }
  if (clients >= limits.clients) return "too many clients";
  if (limits.per_peer != 0 && of_peer >= limits.per_peer) return "too many clients of its address or user";
  if (is_query) return {};
  if (grant.sessions != 0 && of_tenant >= grant.sessions) return "too many sessions of " + grant.tenant;
  // Nothing keeps their workers apart.
  if (has_others && !limits.mixes_tenants) return "a client of another name is served";
  return {};
}

}  // namespace cleave::remote::server
