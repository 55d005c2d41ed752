// How two servers prove to each other that they know the key of a ticket (messages.fbs: Peer).
//
// Thread-safe: plain functions of their arguments. Nothing throws but for want of memory.
#pragma once

#include <optional>
#include <string>

#include "remote/transport/frames.h"
#include "remote/transport/ticket.h"

namespace cleave::remote::server {

// The target's side. False: the source does not know the ticket, or is none; `why` says which.
bool present_ticket(Stream& stream, const Ticket& ticket, Time until, std::string& why);

// How a target has begun. Of another version than ours only the version is read.
struct PeerOpening {
  std::uint16_t version = 0;
  TicketId ticket{};
  Nonce nonce{};
};
// From the first message. Empty: it is not such a beginning.
std::optional<PeerOpening> read_opening(std::span<const std::byte> message);

// The source's side, first. False: the target speaks another version, and has been sent ours; `why` says so.
bool check_version(Stream& stream, const PeerOpening& opening, std::string& why);

// The source's side, once it has the ticket. False: the target does not know its key; `why` says what it did.
bool check_target(Stream& stream, FrameReader& input, const Ticket& ticket, const PeerOpening& opening,
                  Time until, std::string& why);

}  // namespace cleave::remote::server
