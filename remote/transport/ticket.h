// The ticket of one transfer between two servers. The source makes it, the client that wants the transfer carries it to the
// target, and both servers prove to each other that they know its key, which does not go over the connection between them:
// an eavesdropper there learns the id, and proofs that are valid for these two nonces only.
//
// Thread-safe: pure functions, except for random values, which come from the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace cleave::remote {

using TicketId = std::array<std::byte, 16>;  // names it on the wire
using Nonce = std::array<std::byte, 32>;
using TicketProof = std::array<std::byte, 32>;  // HMAC-SHA-256

struct Ticket {
  TicketId id{};
  std::array<std::byte, 32> key{};  // a secret

  bool operator==(const Ticket&) const = default;
};

inline constexpr std::size_t kTicketSize = sizeof(TicketId) + 32;

// Empty: the system has no randomness to give.
std::optional<Ticket> make_ticket();
std::optional<Nonce> make_nonce();

// As the client carries it: id and key. Empty: it has another size.
std::string as_bytes(const Ticket& ticket);
std::optional<Ticket> read_ticket(std::span<const std::byte> bytes);

enum class TransferRole : std::uint8_t { source = 1, target = 2 };

// What the server of this role proves with: of the ticket and both nonces, each of which its server has chosen for this
// connection. Empty: no memory.
std::optional<TicketProof> prove(const Ticket& ticket, TransferRole role, const Nonce& of_target,
                                 const Nonce& of_source);

// Whether a proof is the one that it has to be. Takes the same time for any of the right size.
bool is_proven(const std::optional<TicketProof>& expected, std::span<const std::byte> given);

}  // namespace cleave::remote
