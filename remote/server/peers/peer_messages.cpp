#include "remote/server/peers/peer_messages.h"

#include <algorithm>
#include <sstream>

#include "remote/protocol/limits.h"
#include "remote/server/supervisor/sized_text.h"

namespace cleave::remote::server {
namespace {

constexpr std::size_t kMaxReason = 200;  // bytes

}  // namespace

std::string encode(const PeerMessage& message) {
  std::ostringstream text;
  text << static_cast<char>(message.kind) << message.number << ' ';
  write_sized(text, message.ticket);
  write_sized(text, message.why.substr(0, kMaxReason));
  text << message.addresses.size() << ' ';
  for (const std::string& each : message.addresses) write_sized(text, each);
  return text.str();
}

bool decode(const std::string& text, PeerMessage& message) {
  using Kind = PeerMessage::Kind;
  std::istringstream stream(text);
  const auto kind = static_cast<Kind>(stream.get());
  const bool is_known = kind == Kind::offer || kind == Kind::fetch || kind == Kind::offered ||
                        kind == Kind::connected || kind == Kind::failed || kind == Kind::arrived;
  std::size_t count = 0;
  if (!is_known || !(stream >> message.number) || !read_sized(stream, message.ticket, text.size()) ||
      !read_sized(stream, message.why, kMaxReason) || !(stream >> count) || count > kMaxPeerAddresses)
    return false;
  message.kind = kind;
  message.addresses.resize(count);
  return std::all_of(message.addresses.begin(), message.addresses.end(),
                     [&](std::string& each) { return read_sized(stream, each, kMaxPeerAddress); });
}

}  // namespace cleave::remote::server
