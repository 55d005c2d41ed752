// The address of a listening socket: unix:PATH, tcp:HOST:PORT or vsock:CID:PORT. IPv6 addresses are written in
// brackets: tcp:[::1]:27460.
//
// Thread-safe: pure functions; nothing is resolved or opened here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::base {

struct Address {
  enum class Kind : std::uint8_t { unix_socket, tcp, vsock };
  static constexpr std::uint32_t kAnyCid = UINT32_MAX;
  static constexpr std::uint32_t kHostCid = 2;  // vsock(7): the host, seen from its guests

  Kind kind = Kind::unix_socket;
  std::string path;        // unix: an absolute path of at most 107 bytes, or "@name" (abstract namespace)
  std::string host;        // tcp: a name or address without brackets, never empty
  std::uint32_t cid = 0;   // vsock: kAnyCid for "any", kHostCid for "host"
  std::uint32_t port = 0;  // tcp: 0 to 65535, 0 lets the system choose (listeners only); vsock: any

  bool operator==(const Address&) const = default;
};

// Empty if the text has none of the three forms.
std::optional<Address> parse_address(std::string_view text);

// The inverse of parse_address().
std::string as_text(const Address& address);

}  // namespace cleave::base
