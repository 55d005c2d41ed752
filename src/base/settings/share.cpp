#include "base/settings/share.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <unistd.h>

#include "base/files/regular_file.h"
#include "base/text/number.h"

namespace cleave::base {
namespace {

constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 50U;
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@/";

// The path of a line "ID:CONTROLLERS:PATH".
std::string_view path_of(std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  return second == std::string_view::npos ? std::string_view{} : line.substr(second + 1);
}

std::string as_name(std::string_view text) {
  if (text.starts_with('/')) text.remove_prefix(1);
  std::string name(text.substr(text.size() - std::min(text.size(), kMaxTenantName)));
  for (char& c : name) {
    if (kNameCharacters.find(c) == std::string_view::npos) c = '_';
  }
  return name;
}

}  // namespace

std::optional<Cap> parse_cap(std::string_view text) {
  if (text == "off") return Cap{};
  Cap cap;
  constexpr std::string_view kBorrow = ",borrow";
  if (text.ends_with(kBorrow)) {
    cap.borrow = true;
    text.remove_suffix(kBorrow.size());
  }
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const auto whole = parse_unsigned(text.substr(0, dot), 0, 100);
  if (!whole) return std::nullopt;
  std::uint64_t tenths = 0;
  if (dot < text.size()) {
    const auto fraction = parse_unsigned(text.substr(dot + 1), 0, 9);
    if (!fraction) return std::nullopt;
    tenths = *fraction;
  }
  cap.permille = static_cast<unsigned>(10 * *whole + tenths);
  if (cap.permille == 0 || cap.permille > 1000) return std::nullopt;
  return cap.permille == 1000 ? Cap{} : cap;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  if (text == "off") return 0;
  const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
  std::string_view unit = text.substr(digits);
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (unit.size() == 1 && kUnits.find(unit[0]) != std::string_view::npos) {
    shift = 10 * static_cast<unsigned>(kUnits.find(unit[0]) + 1);
  } else if (digits != text.size()) {
    return std::nullopt;
  }
  const auto number = parse_unsigned(text.substr(0, digits), 1, kMaxSize >> shift);
  if (!number) return std::nullopt;
  return *number << shift;
}

bool is_tenant_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTenantName && text != "cgroup" &&
         text.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

std::string tenant_of_control_group(std::string_view proc_self_cgroup, std::string_view host) {
  std::string_view path;
  while (!proc_self_cgroup.empty()) {
    const std::string_view line = proc_self_cgroup.substr(0, proc_self_cgroup.find('\n'));
    proc_self_cgroup.remove_prefix(std::min(line.size() + 1, proc_self_cgroup.size()));
    if (path.size() <= 1 || line.starts_with("0::")) {
      if (path_of(line).size() > 1) path = path_of(line);
    }
  }
  // "/..": the path is outside of what the container may see.
  return as_name(path.size() > 1 && !path.starts_with("/..") ? path : host);
}

std::string tenant_of_control_group() {
  constexpr std::size_t kMaxGroups = std::size_t{64} << 10U;
  const std::string text = read_regular_file("/proc/self/cgroup", kMaxGroups).text.value_or("");
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return tenant_of_control_group(text, host.data());
}

}  // namespace cleave::base
