#include "monitor/hypervisor/libvirt_uri.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <unistd.h>

#include "daemon/listening_socket.h"

namespace cleave::monitor {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Of "[USER@]HOST[:PORT]", where an IPv6 address is in brackets, which are left out.
std::string_view host_of(std::string_view authority) {
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  const auto bracket = authority.find(']');
  if (authority.starts_with('[') && bracket != std::string_view::npos)
    return authority.substr(1, bracket - 1);
  return authority.substr(0, authority.find(':'));
}

// Whether that is the own name, or its first part, which the resolver completes to it.
bool is_own_name(const std::string& host, const std::string& own) {
  return !own.empty() && (host == own || host == own.substr(0, own.find('.')));
}

bool is_this_host(std::string_view name, std::string_view own_name) {
  const std::string host = in_lower_case(name);
  if (host.empty() || host == "localhost" || is_own_name(host, in_lower_case(own_name))) return true;
  base::Address address;
  address.kind = base::Address::Kind::tcp;
  address.host = host;
  return daemon::is_local(address);
}

// Those that end at the host of the URI. There is also "ext", a command that may lead anywhere.
bool is_direct(std::string_view transport) {
  constexpr std::array<std::string_view, 7> kDirect{"", "unix", "ssh", "libssh", "libssh2", "tcp", "tls"};
  return std::find(kDirect.begin(), kDirect.end(), transport) != kDirect.end();
}

}  // namespace

std::string own_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool stalls_like_this_host(std::string_view uri, std::string_view own_name) {
  constexpr std::string_view kAuthority = "://";
  const auto end = uri.find(kAuthority);
  if (end == std::string_view::npos) return false;
  const std::string_view scheme = uri.substr(0, end);
  const std::string_view driver = scheme.substr(0, scheme.find('+'));
  const std::string_view transport = scheme.substr(std::min(driver.size() + 1, scheme.size()));
  const std::string_view rest = uri.substr(end + kAuthority.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  return driver != "xen" && is_direct(transport) && is_this_host(host_of(authority), own_name);
}

}  // namespace cleave::monitor
