#include "remote/server/processes/packets.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <sys/socket.h>

#include "base/files/discard.h"
#include "remote/protocol/limits.h"
#include "remote/protocol/verify.h"
#include "remote/transport/descriptor_passing.h"
#include "remote/transport/ticket.h"

namespace cleave::remote::server {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Text = flatbuffers::String;

Offset<ipc::Client> put(Builder& builder, const ClientInfo& client, const Grant& grant) {
  return ipc::CreateClient(builder, builder.CreateString(client.name), client.version, client.features,
                           client.heartbeat, client.is_query, client.is_relayed, client.left_in_socket,
                           builder.CreateString(grant.tenant), grant.memory, grant.sessions,
                           builder.CreateString(grant.weight), builder.CreateString(grant.cap),
                           builder.CreateString(grant.priority));
}

ClientInfo client_in(const ipc::Client& from) {
  return {from.name()->str(), from.version(),    from.features(),      from.heartbeat(),
          from.is_query(),    from.is_relayed(), from.left_in_socket()};
}

Grant grant_in(const ipc::Client& from) {
  return {from.tenant()->str(), from.memory(),     from.sessions(),
          from.weight()->str(), from.cap()->str(), from.priority()->str()};
}

bool is_at_most(const Text* text, std::size_t most) { return text == nullptr || text->size() <= most; }

// What the schema cannot express: the values of enumerations, and limits.
bool is_sound(const ipc::Client& client) {
  return is_at_most(client.weight(), kMaxGrantText) && is_at_most(client.cap(), kMaxGrantText) &&
         is_at_most(client.priority(), kMaxGrantText);
}
bool is_sound(const ipc::PeerMessage& message) {
  const auto* const addresses = message.addresses();
  return message.kind() <= ipc::PeerMessageKind::MAX && is_at_most(message.why(), kMaxReason) &&
         (message.ticket() == nullptr || message.ticket()->size() <= kTicketSize) &&
         (addresses == nullptr || (addresses->size() <= kMaxPeerAddresses &&
                                   std::all_of(addresses->begin(), addresses->end(), [](const Text* each) {
                                     return is_at_most(each, kMaxPeerAddress);
                                   })));
}

bool is_sound(const ipc::Packet& packet) {
  switch (packet.body_type()) {
    case ipc::Body::Introduction:
      return is_sound(*packet.body_as_Introduction()->client());
    case ipc::Body::Assignment:
      return is_sound(*packet.body_as_Assignment()->client());
    case ipc::Body::Verdict:
      return packet.body_as_Verdict()->answer() <= ipc::Answer::MAX;
    case ipc::Body::Report:
      return packet.body_as_Report()->kind() <= ipc::ReportKind::MAX &&
             is_at_most(packet.body_as_Report()->text(), kMaxReportText);
    case ipc::Body::PeerMessage:
      return is_sound(*packet.body_as_PeerMessage());
    default:
      return packet.body_type() != ipc::Body::NONE && packet.body_type() <= ipc::Body::MAX;
  }
}

std::size_t most_descriptors(const ipc::Packet& packet) {
  switch (packet.body_type()) {
    case ipc::Body::Listener:
    case ipc::Body::Counters:
    case ipc::Body::Introduction:
    case ipc::Body::BrokerChannel:
      return 1;
    case ipc::Body::Credentials:
    case ipc::Body::Assignment:
      return 2;
    case ipc::Body::PeerMessage: {
      const ipc::PeerMessageKind kind = packet.body_as_PeerMessage()->kind();
      return kind == ipc::PeerMessageKind::connected || kind == ipc::PeerMessageKind::arrived ? 1 : 0;
    }
    default:
      return 0;
  }
}

}  // namespace

Packet encode(const std::vector<daemon::GivenValue>& options) {
  return packet_of([&](Builder& builder) {
    std::vector<Offset<ipc::Option>> given;
    given.reserve(options.size());
    for (const auto& [name, text] : options)
      given.push_back(ipc::CreateOption(builder, builder.CreateString(name), builder.CreateString(text)));
    return ipc::CreateOptionsDirect(builder, &given);
  });
}

Packet encode(const Introduction& from) {
  return packet_of([&](Builder& builder) {
    return ipc::CreateIntroduction(builder, from.id, builder.CreateString(from.peer),
                                   builder.CreateString(from.peer_key),
                                   put(builder, from.client, from.grant));
  });
}

Packet encode(const Assignment& from) {
  return packet_of([&](Builder& builder) {
    return ipc::CreateAssignment(builder, put(builder, from.client, from.grant), from.clients,
                                 from.is_traced);
  });
}

Packet encode(const PeerMessage& from) {
  return packet_of([&](Builder& builder) {
    const auto* const ticket = reinterpret_cast<const std::uint8_t*>(from.ticket.data());
    return ipc::CreatePeerMessage(
        builder, from.worker, from.kind, from.number, builder.CreateVector(ticket, from.ticket.size()),
        builder.CreateVectorOfStrings(from.addresses), builder.CreateString(from.why.substr(0, kMaxReason)));
  });
}

Packet encode(ipc::ReportKind report, std::string_view text) {
  return packet_of([&](Builder& builder) {
    return ipc::CreateReport(builder, report, builder.CreateString(text.substr(0, kMaxReportText)));
  });
}

std::vector<daemon::GivenValue> decode(const ipc::Options& options) {
  std::vector<daemon::GivenValue> given;
  for (const ipc::Option* const each : *options.given())
    given.push_back({each->name()->str(), each->text()->str()});
  return given;
}

Introduction decode(const ipc::Introduction& from) {
  return {from.id(), from.peer()->str(), from.peer_key()->str(), client_in(*from.client()),
          grant_in(*from.client())};
}

Assignment decode(const ipc::Assignment& from) {
  return {client_in(*from.client()), grant_in(*from.client()), from.clients(), from.is_traced()};
}

PeerMessage decode(const ipc::PeerMessage& from) {
  PeerMessage message{.kind = from.kind(), .worker = from.worker(), .number = from.number()};
  if (const auto* const ticket = from.ticket()) message.ticket.assign(ticket->begin(), ticket->end());
  if (const auto* const addresses = from.addresses()) {
    for (const Text* const each : *addresses) message.addresses.push_back(each->str());
  }
  if (from.why() != nullptr) message.why = from.why()->str();
  return message;
}

bool send_packet(int socket, const Packet& packet, std::span<const int> descriptors) {
  return send_with_descriptors(socket, bytes_of(packet), descriptors);
}

bool send_packet_now(int socket, const Packet& packet) {
  return ::send(socket, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

const ipc::Packet* verified_packet(std::span<const std::byte> bytes, std::size_t descriptors) {
  const auto* const packet = verified<ipc::Packet>(bytes);
  const bool is_good = packet != nullptr && is_sound(*packet) && descriptors <= most_descriptors(*packet);
  return is_good ? packet : nullptr;
}

PacketReader::~PacketReader() { discard(std::move(descriptors)); }

ReadStatus PacketReader::read_socket(int socket, int flags) {
  discard(std::move(descriptors));
  return take(
      receive_with_descriptors(socket, std::as_writable_bytes(std::span(buffer_)), descriptors, flags));
}

ReadStatus PacketReader::read_pipe(int pipe) {
  return take(::read(pipe, buffer_.data(), buffer_.size() * sizeof(buffer_[0])));
}

// The buffer has room for more than a packet may have.
ReadStatus PacketReader::take(long got) {
  packet_ = nullptr;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ReadStatus::timeout;
  if (got <= 0) return ReadStatus::closed;
  const auto size = static_cast<std::size_t>(got);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(buffer_)).first(size);
  if (size <= most_) packet_ = verified_packet(bytes, descriptors.size());
  return ReadStatus::data;
}

}  // namespace cleave::remote::server
