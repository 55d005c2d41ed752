// The frames that a connection consists of, in both directions: a header of 16 bytes, a FlatBuffers message, a payload.
//
//   0  u32  size of the message, in bytes: 1 to kMaxMessageSize (limits.h), for a Hello and a Peer to kMaxHelloSize
//   4  u16  kind
//   6  u16  0; 1: the payload comes in blocks (feature `compression`; remote/transport/payload_blocks.h)
//   8  u64  size of the payload: 0 to kMaxPayload; of one in blocks when they are decompressed
//
// All little-endian. The message is a finished FlatBuffer of the kind's table, without a size prefix. The payload is the
// payloads of the message's commands or items, one after the other; their sizes add up to its size.
//
// Thread-safe: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "remote/protocol/limits.h"

namespace cleave::remote {

// `peer` is for messages between servers, when one fetches contents from another (messages.fbs: Peer).
enum class FrameKind : std::uint16_t { hello = 1, welcome = 2, commands = 3, events = 4, peer = 5 };

struct FrameHeader {
  FrameKind kind{};
  std::uint32_t message = 0;
  std::uint64_t payload = 0;
  bool in_blocks = false;

  bool operator==(const FrameHeader&) const = default;
};

inline constexpr std::size_t kHeaderSize = 16;
using HeaderBytes = std::array<std::byte, kHeaderSize>;

HeaderBytes encode(const FrameHeader& header);

// Empty if the bytes are not a header, or one that exceeds the limits.
std::optional<FrameHeader> decode(const HeaderBytes& bytes);

}  // namespace cleave::remote
