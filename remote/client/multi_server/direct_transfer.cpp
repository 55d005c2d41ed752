#include "remote/client/multi_server/direct_transfer.h"

#include <string>
#include <vector>

#include "remote/client/api/regions.h"
#include "remote/client/link/connection.h"
#include "remote/protocol/features.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client::multi_server {
namespace {

// Below this the round trips cost more than what they save, on all but the slowest links.
constexpr std::size_t kLeastDirectBytes = std::size_t{64} << 10U;

Connection& connection_of(const MigrationEnd& end) {
  return *state_of<QueueState>(object_of(end.queue)).connection;
}

// Where its server says that others reach it, or else where this process does.
std::vector<std::string> addresses_of(const Connection& source) {
  std::vector<std::string> all;
  if (const auto* const said = source.welcome().peer_addresses()) {
    for (const auto* const each : *said) {
      if (all.size() < kMaxPeerAddresses && each->size() <= kMaxPeerAddress) all.push_back(each->str());
    }
  }
  const std::string& own = source.address();
  const bool leads_elsewhere = own.starts_with("tcp:") || own.starts_with("tls:");
  if (all.empty() && leads_elsewhere && own.size() <= kMaxPeerAddress) all.push_back(own);
  return all;
}

}  // namespace

bool can_go_directly(const MigrationEnd& from, const MigrationEnd& to) {
  if (from.queue == nullptr || to.queue == nullptr || is_image(from.memory)) return false;
  const Connection& source = connection_of(from);
  const Connection& target = connection_of(to);
  return from.memory.size >= kLeastDirectBytes && source.supports(Feature::offers) &&
         target.supports(Feature::fetches) && !addresses_of(source).empty();
}

bool transfer_directly(const MigrationEnd& from, const MigrationEnd& to) {
  Connection& source = connection_of(from);
  PendingRequest offer;
  const cl_int offered = source.call({.urgent = true}, offer, [&](auto& b) {
    return wire::CreateOfferContents(b, state_of<QueueState>(object_of(from.queue)).id, from.memory.id, 0,
                                     from.memory.size);
  });
  const auto* const ticket = offer.answer() != nullptr ? offer.answer()->bytes() : nullptr;
  if (offered != CL_SUCCESS || ticket == nullptr) return false;
  const std::vector<std::string> addresses = addresses_of(source);
  const cl_int fetched = connection_of(to).call({.urgent = true}, [&](auto& b) {
    const auto texts = b.CreateVectorOfStrings(addresses);
    const auto bytes = b.CreateVector(ticket->data(), ticket->size());
    return wire::CreateFetchContents(b, state_of<QueueState>(object_of(to.queue)).id, to.memory.id, 0,
                                     to.memory.size, texts, bytes);
  });
  return fetched == CL_SUCCESS;
}

}  // namespace cleave::remote::client::multi_server
