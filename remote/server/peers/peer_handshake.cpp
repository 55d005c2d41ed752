#include "remote/server/peers/peer_handshake.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "remote/protocol/verify.h"

namespace cleave::remote::server {
namespace {

constexpr std::uint16_t kPeerVersion = 1;
// For the next message to be accepted; the time to read one is the caller's.
constexpr std::chrono::seconds kPeerWriteTime{kHelloSeconds};

using Bytes = flatbuffers::Vector<std::uint8_t>;

// Whether the field has this size; then `value` is set.
template <typename Array>
bool read_array(const Bytes* field, Array& value) {
  if (field == nullptr || field->size() != value.size()) return false;
  std::memcpy(value.data(), field->data(), value.size());
  return true;
}

bool send_peer(Stream& stream, std::span<const std::byte> ticket, std::span<const std::byte> nonce,
               std::span<const std::byte> proof) {
  flatbuffers::FlatBufferBuilder builder;
  const auto vector = [&](std::span<const std::byte> bytes) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return bytes.empty() ? flatbuffers::Offset<Bytes>() : builder.CreateVector(data, bytes.size());
  };
  const auto the_ticket = vector(ticket);
  const auto the_nonce = vector(nonce);
  const auto the_proof = vector(proof);
  builder.Finish(wire::CreatePeer(builder, kPeerVersion, the_ticket, the_nonce, the_proof));
  return write_frame(stream, FrameKind::peer,
                     std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())), {},
                     kPeerWriteTime);
}

std::string other_version(std::uint16_t theirs) {
  return "speaks version " + std::to_string(theirs) +
         " of the protocol between servers, and this one version " + std::to_string(kPeerVersion);
}

// Null: there is none until then. Nothing may come behind it.
const wire::Peer* next_peer(FrameReader& input, Time until) {
  FrameHeader header;
  input.set_deadline(until);
  const bool is_one = input.next(header, until, kMaxHelloSize) == ReadStatus::data &&
                      header.kind == FrameKind::peer && !input.has_buffered();
  return is_one ? verified_peer(input.message()) : nullptr;
}

}  // namespace

bool present_ticket(Stream& stream, const Ticket& ticket, Time until, std::string& why) {
  const auto nonce = make_nonce();
  if (!nonce) return why = "no random numbers", false;
  if (!send_peer(stream, ticket.id, *nonce, {})) return why = "disconnected", false;
  const auto input = std::make_unique<FrameReader>(stream, kPeerWriteTime);
  const wire::Peer* const answer = next_peer(*input, until);
  if (answer != nullptr && answer->version() != kPeerVersion)
    return why = "it " + other_version(answer->version()), false;
  Nonce theirs{};
  TicketProof proof{};
  if (answer == nullptr || !read_array(answer->nonce(), theirs) || !read_array(answer->proof(), proof))
    return why = "it does not know the ticket, or is no such server", false;
  if (!is_proven(prove(ticket, TransferRole::source, *nonce, theirs), proof))
    return why = "it does not know the ticket's key", false;
  const auto ours = prove(ticket, TransferRole::target, *nonce, theirs);
  if (!ours || !send_peer(stream, {}, {}, *ours)) return why = "disconnected", false;
  return true;
}

std::optional<PeerOpening> read_opening(std::span<const std::byte> message) {
  const wire::Peer* const peer = verified_peer(message);
  if (peer == nullptr) return std::nullopt;
  PeerOpening opening{peer->version()};
  const bool is_whole =
      read_array(peer->ticket(), opening.ticket) && read_array(peer->nonce(), opening.nonce);
  return is_whole || opening.version != kPeerVersion ? std::optional(opening) : std::nullopt;
}

bool check_version(Stream& stream, const PeerOpening& opening, std::string& why) {
  if (opening.version == kPeerVersion) return true;
  send_peer(stream, {}, {}, {});
  why = "a server " + other_version(opening.version);
  return false;
}

bool check_target(Stream& stream, FrameReader& input, const Ticket& ticket, const PeerOpening& opening,
                  Time until, std::string& why) {
  const auto nonce = make_nonce();
  if (!nonce) return why = "no random numbers", false;
  const auto ours = prove(ticket, TransferRole::source, opening.nonce, *nonce);
  if (!ours || !send_peer(stream, {}, *nonce, *ours)) return why = "disconnected", false;
  const wire::Peer* const answer = next_peer(input, until);
  TicketProof proof{};
  if (answer == nullptr || !read_array(answer->proof(), proof))
    return why = "a server has not proved that it may have contents", false;
  if (!is_proven(prove(ticket, TransferRole::target, opening.nonce, *nonce), proof))
    return why = "a server does not know the key of its ticket", false;
  return true;
}

}  // namespace cleave::remote::server
