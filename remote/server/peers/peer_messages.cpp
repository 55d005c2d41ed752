#include "remote/server/peers/peer_messages.h"

#include <algorithm>
#include <sstream>

#include "remote/protocol/limits.h"

namespace cleave::remote::server {
namespace {

constexpr std::size_t kMaxReason = 200;  // bytes

void write_sized(std::ostream& stream, const std::string& text) {
  stream << ' ' << text.size() << ' ' << text;
}

bool read_sized(std::istream& stream, std::string& text, std::size_t most) {
  std::size_t size = 0;
  stream >> size;
  stream.get();
  if (!stream || size > most) return false;
  text.resize(size);
  stream.read(text.data(), static_cast<std::streamsize>(size));
  return static_cast<bool>(stream);
}

}  // namespace

std::string encode(const PeerMessage& message) {
  std::ostringstream text;
  text << static_cast<char>(message.kind) << message.number;
  write_sized(text, message.ticket);
  write_sized(text, message.why.substr(0, kMaxReason));
  text << ' ' << message.addresses.size();
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
