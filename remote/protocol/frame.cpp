#include "remote/protocol/frame.h"

namespace cleave::remote {
namespace {

void put(HeaderBytes& bytes, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint64_t get(const HeaderBytes& bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
  return value;
}

std::uint32_t max_message_size(FrameKind kind) {
  return kind == FrameKind::hello || kind == FrameKind::peer ? kMaxHelloSize : kMaxMessageSize;
}

bool may_have_payload(FrameKind kind) { return kind == FrameKind::commands || kind == FrameKind::events; }

}  // namespace

HeaderBytes encode(const FrameHeader& header) {
  HeaderBytes bytes{};
  put(bytes, 0, header.message, 4);
  put(bytes, 4, static_cast<std::uint16_t>(header.kind), 2);
  put(bytes, 6, header.in_blocks ? 1 : 0, 2);
  put(bytes, 8, header.payload, 8);
  return bytes;
}

std::optional<FrameHeader> decode(const HeaderBytes& bytes) {
  const std::uint64_t kind = get(bytes, 4, 2);
  if (kind < static_cast<std::uint16_t>(FrameKind::hello) ||
      kind > static_cast<std::uint16_t>(FrameKind::peer) || get(bytes, 6, 2) > 1) {
    return std::nullopt;
  }
  FrameHeader header{static_cast<FrameKind>(kind), static_cast<std::uint32_t>(get(bytes, 0, 4)),
                     get(bytes, 8, 8), get(bytes, 6, 2) == 1};
  if (header.message == 0 || header.message > max_message_size(header.kind)) return std::nullopt;
  if (header.payload > (may_have_payload(header.kind) ? kMaxPayload : 0)) return std::nullopt;
  if (header.in_blocks && !may_have_payload(header.kind)) return std::nullopt;
  return header;
}

}  // namespace cleave::remote
