#include "remote/server/options/peer_list.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text/number.h"

#include <arpa/inet.h>

namespace cleave::remote::server {
namespace {

constexpr unsigned kMappedBits = 96;  // in front of an address of IPv4 that IPv6 maps
constexpr unsigned kAllBits = 128;

// Names of hosts are the same in capitals.
std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return text;
}

template <typename Bytes>
bool is_same_up_to(unsigned bits, const Bytes& one, const Bytes& other) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> bit % 8;
    if ((one[bit / 8] & mask) != (other[bit / 8] & mask)) return false;
  }
  return true;
}

}  // namespace

// `size`: of the network, in bits; empty: one address.
bool PeerList::read_network(const std::string& host, std::string_view size, Network& network) {
  constexpr Bytes kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  network.bytes = kMapped;
  const bool is_old = ::inet_pton(AF_INET, host.c_str(), network.bytes.data() + kMappedBits / 8) == 1;
  if (!is_old && ::inet_pton(AF_INET6, host.c_str(), network.bytes.data()) != 1) return false;
  const unsigned before = is_old ? kMappedBits : 0;
  const auto bits = size.empty() ? std::optional<std::uint64_t>(kAllBits - before)
                                 : base::parse_unsigned(std::string(size), 0, kAllBits - before);
  if (bits) network.bits = before + static_cast<unsigned>(*bits);
  return bits.has_value();
}

bool PeerList::add(std::string_view text) {
  std::string plain(text);
  std::string_view size;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const std::size_t end = std::min(text.find(':', slash), text.size());
    size = text.substr(slash + 1, end - slash - 1);
    if (size.empty()) return false;
    plain.erase(slash, end - slash);
  }
  const auto endpoint = read_endpoint(plain);
  if (!endpoint || endpoint->address.kind != base::Address::Kind::tcp || endpoint->address.port == 0)
    return false;
  Entry entry{endpoint->tls, endpoint->address.port, {}, {}};
  if (!read_network(endpoint->address.host, size, entry.network)) {
    if (slash != std::string_view::npos) return false;
    entry.name = lower(endpoint->address.host);
  }
  entries_.push_back(std::move(entry));
  return true;
}

bool PeerList::permits(const Endpoint& endpoint) const {
  if (endpoint.address.kind != base::Address::Kind::tcp) return false;
  const std::string host = lower(endpoint.address.host);
  Network address;
  const bool is_numeric = read_network(endpoint.address.host, {}, address);
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& each) {
    if (each.tls != endpoint.tls || each.port != endpoint.address.port) return false;
    if (!each.name.empty()) return each.name == host;
    return is_numeric && is_same_up_to(each.network.bits, each.network.bytes, address.bytes);
  });
}

}  // namespace cleave::remote::server
