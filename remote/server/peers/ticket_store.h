// The tickets of contents that workers offer to other servers, in the front, which those reach. Each is good for one transfer
// and a short time.
//
// Not thread-safe; takes the time as an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "remote/transport/stream.h"
#include "remote/transport/ticket.h"

namespace cleave::remote::server {

// What a ticket is for: the worker's own number of the offer.
struct OfferedContents {
  std::uint64_t worker = 0;
  std::uint32_t number = 0;

  bool operator==(const OfferedContents&) const = default;
};

// A ticket is good for so long.
inline constexpr std::chrono::seconds kTicketTime{30};
// A worker's offers that have not been fetched.
inline constexpr std::size_t kMaxOffers = 16;

// How long a server may accept none of the contents: its device may be busy.
inline constexpr std::chrono::minutes kPeerStallTime{2};

class TicketStore {
 public:
  // A new ticket; the oldest of the worker's makes room for it if there are too many. Empty: there is no randomness.
  std::optional<Ticket> add(const OfferedContents& contents, Time now);

  // For a server that is to prove that it knows the key. Empty: there is no such ticket, or it has been used, or is too old.
  [[nodiscard]] std::optional<Ticket> find(const TicketId& id, Time now) const;

  // It has proved that: what the ticket is for, once. Empty as above.
  std::optional<OfferedContents> redeem(const TicketId& id, Time now);

  [[nodiscard]] std::size_t size() const { return tickets_.size(); }

 private:
  struct Entry {
    Ticket ticket;
    OfferedContents contents;
    Time until{};
  };

  std::map<TicketId, Entry> tickets_;
};

}  // namespace cleave::remote::server
