#include "remote/transport/endpoint.h"

#include "remote/protocol/features.h"

namespace cleave::remote {
namespace {

constexpr std::string_view kTls = "tls:";
constexpr std::string_view kTcp = "tcp:";

bool has_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  return colon != std::string_view::npos && (host.front() != '[' || host[colon - 1] == ']');
}

}  // namespace

std::optional<Endpoint> read_endpoint(std::string_view text) {
  Endpoint endpoint;
  endpoint.tls = text.starts_with(kTls);
  std::string plain(endpoint.tls ? std::string(kTcp).append(text.substr(kTls.size())) : std::string(text));
  if (plain.starts_with(kTcp) && plain.size() > kTcp.size() &&
      !has_port(std::string_view(plain).substr(kTcp.size()))) {
    plain.append(":").append(std::to_string(kPort));
  }
  const auto address = base::parse_address(plain);
  if (!address) return std::nullopt;
  endpoint.address = *address;
  return endpoint;
}

std::string as_text(const Endpoint& endpoint) {
  const std::string text = base::as_text(endpoint.address);
  return endpoint.tls ? std::string(kTls).append(text.substr(kTcp.size())) : text;
}

bool is_private(const Endpoint& endpoint) {
  if (endpoint.address.kind != base::Address::Kind::tcp) return true;
  const std::string& host = endpoint.address.host;
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace cleave::remote
