#include "remote/server/peers/ticket_store.h"

namespace cleave::remote::server {

std::optional<Ticket> TicketStore::add(const OfferedContents& contents, Time now) {
  std::erase_if(tickets_, [&](const auto& each) { return each.second.until <= now; });
  std::size_t of_worker = 0;
  auto oldest = tickets_.end();
  for (auto each = tickets_.begin(); each != tickets_.end(); ++each) {
    if (each->second.contents.worker != contents.worker) continue;
    ++of_worker;
    if (oldest == tickets_.end() || each->second.until < oldest->second.until) oldest = each;
  }
  if (of_worker >= kMaxOffers) tickets_.erase(oldest);
  const auto ticket = make_ticket();
  if (ticket) tickets_[ticket->id] = {*ticket, contents, now + kTicketTime};
  return ticket;
}

std::optional<Ticket> TicketStore::find(const TicketId& id, Time now) const {
  const auto found = tickets_.find(id);
  return found != tickets_.end() && now < found->second.until ? std::optional(found->second.ticket)
                                                              : std::nullopt;
}

std::optional<OfferedContents> TicketStore::redeem(const TicketId& id, Time now) {
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) return std::nullopt;
  const Entry entry = found->second;
  tickets_.erase(found);
  return now < entry.until ? std::optional(entry.contents) : std::nullopt;
}

}  // namespace cleave::remote::server
