#include "base/address.h"

#include <sys/un.h>

#include "base/text/number.h"

namespace cleave::base {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kTcp = "tcp:";
constexpr std::string_view kVsock = "vsock:";
constexpr std::size_t kMaxPathLength = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr std::size_t kMaxHostLength = 253;  // RFC 1035, section 2.3.4, as text

std::optional<Address> parse_unix(std::string_view path) {
  const bool named = path.size() > 1 && (path.front() == '/' || path.front() == '@');
  if (!named || path.size() > kMaxPathLength || path.find('\0') != std::string_view::npos)
    return std::nullopt;
  Address address;
  address.path = path;
  return address;
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= kMaxHostLength && host.find('\0') == std::string_view::npos;
}

std::optional<Address> parse_tcp(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = parse_unsigned(text.substr(colon + 1), 0, UINT16_MAX);
  if (!port || !is_host(host)) return std::nullopt;
  Address address;
  address.kind = Address::Kind::tcp;
  address.host = host;
  address.port = static_cast<std::uint32_t>(*port);
  return address;
}

std::optional<std::uint32_t> parse_cid(std::string_view text) {
  if (text == "any") return Address::kAnyCid;
  if (text == "host") return Address::kHostCid;
  const auto cid = parse_unsigned(text, 0, UINT32_MAX - 1);
  return cid ? std::optional(static_cast<std::uint32_t>(*cid)) : std::nullopt;
}

std::optional<Address> parse_vsock(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto cid = parse_cid(text.substr(0, colon));
  const auto port = parse_unsigned(text.substr(colon + 1), 0, UINT32_MAX - 1);
  if (!cid || !port) return std::nullopt;
  Address address;
  address.kind = Address::Kind::vsock;
  address.cid = *cid;
  address.port = static_cast<std::uint32_t>(*port);
  return address;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  if (text.starts_with(kUnix)) return parse_unix(text.substr(kUnix.size()));
  if (text.starts_with(kTcp)) return parse_tcp(text.substr(kTcp.size()));
  if (text.starts_with(kVsock)) return parse_vsock(text.substr(kVsock.size()));
  return std::nullopt;
}

std::string as_text(const Address& address) {
  const std::string port = std::to_string(address.port);
  switch (address.kind) {
    case Address::Kind::unix_socket:
      return std::string(kUnix) + address.path;
    case Address::Kind::tcp: {
      const bool bare = address.host.find(':') == std::string::npos;
      return std::string(kTcp) + (bare ? address.host : '[' + address.host + ']') + ':' + port;
    }
    case Address::Kind::vsock:
      break;
  }
  const std::string cid = address.cid == Address::kAnyCid ? "any" : std::to_string(address.cid);
  return std::string(kVsock) + cid + ':' + port;
}

}  // namespace cleave::base
