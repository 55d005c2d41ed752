// Checks a message before anything of it is read: FlatBuffers' own bounds, and what the schema cannot express: each command or
// item has a body, there are not too many, and their payloads add up to the frame's.
//
// Thread-safe: pure functions. The result points into `bytes`, which must be aligned to 8; null: malformed.
#pragma once

#include <cstdint>
#include <span>

#include "remote/protocol/limits.h"
#include "remote/protocol/messages.h"

namespace cleave::remote {

// FlatBuffers' own bounds alone.
template <typename Message>
const Message* verified(std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), kMaxDepth, kMaxTables);
  return verifier.VerifyBuffer<Message>(nullptr) ? flatbuffers::GetRoot<Message>(data) : nullptr;
}

const wire::Hello* verified_hello(std::span<const std::byte> bytes);
const wire::Peer* verified_peer(std::span<const std::byte> bytes);
const wire::Welcome* verified_welcome(std::span<const std::byte> bytes);
const wire::Commands* verified_commands(std::span<const std::byte> bytes, std::uint64_t payload);
const wire::Events* verified_events(std::span<const std::byte> bytes, std::uint64_t payload);

}  // namespace cleave::remote
