#include "learn/checked_lines.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"

namespace cleave::learn {
namespace {

constexpr std::size_t kLongestLine = 256;

}  // namespace

std::string checked_line(std::string_view version, const std::string& fields) {
  std::string text(version);
  text.append(" ").append(fields);
  return text + " " + std::to_string(base::hash_of(text)) + "\n";
}

std::optional<std::string_view> fields_of(std::string_view version, std::string_view line) {
  if (line.size() > kLongestLine) return std::nullopt;
  const auto space = line.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  std::string_view check = line.substr(space + 1);
  line = line.substr(0, space);
  if (take_number(check, UINT64_MAX) != base::hash_of(line)) return std::nullopt;
  if (!line.starts_with(version) || line.substr(version.size(), 1) != " ") return std::nullopt;
  return line.substr(version.size() + 1);
}

std::optional<std::uint64_t> take_number(std::string_view& fields, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = fields.data() + fields.size();
  const auto [stop, error] = std::from_chars(fields.data(), end, value);
  if (error != std::errc{} || value > most || (stop != end && *stop != ' ')) return std::nullopt;
  fields.remove_prefix(std::min(fields.size(), static_cast<std::size_t>(stop - fields.data()) + 1));
  return value;
}

}  // namespace cleave::learn
