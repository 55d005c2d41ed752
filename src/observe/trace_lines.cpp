#include "observe/trace_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace cleave::observe {
namespace {

constexpr int kMaxDepth = 16;

// Each function takes one thing from the front; false: it is not there.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : left_(text) {}

  bool take(char wanted) {
    skip_space();
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] bool at_end() {
    skip_space();
    return left_.empty();
  }

  // `inside`: between the quotation marks.
  bool take_string(std::string_view& inside) {
    if (!take('"')) return false;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (static_cast<unsigned char>(left_[i]) < 0x20) return false;
      if (left_[i] == '"') {
        inside = left_.substr(0, i);
        left_.remove_prefix(i + 1);
        return true;
      }
      if (left_[i] != '\\') continue;
      if (++i == left_.size()) return false;
      if (left_[i] == 'u') {
        for (int digit = 0; digit < 4; ++digit) {
          if (++i == left_.size() || std::isxdigit(static_cast<unsigned char>(left_[i])) == 0) return false;
        }
      } else if (std::string_view("\"\\/bfnrt").find(left_[i]) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }

  bool take_value(std::string_view& value, int depth) {
    skip_space();
    const std::string_view before = left_;
    std::string_view inside;
    if (depth > kMaxDepth || left_.empty()) return false;
    const bool taken = left_.front() == '"'   ? take_string(inside)
                       : left_.front() == '{' ? take_members(nullptr, depth + 1)
                       : left_.front() == '[' ? take_list(depth + 1)
                                              : take_word();
    value = before.substr(0, before.size() - left_.size());
    return taken;
  }

  bool take_members(std::vector<JsonMembers::Member>* members, int depth) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      JsonMembers::Member member;
      if (!take_string(member.key) || !take(':') || !take_value(member.value, depth)) return false;
      if (members != nullptr) members->push_back(member);
    } while (take(','));
    return take('}');
  }

 private:
  void skip_space() {
    while (!left_.empty() && std::string_view(" \t\r\n").find(left_.front()) != std::string_view::npos)
      left_.remove_prefix(1);
  }

  bool take_list(int depth) {
    if (!take('[')) return false;
    if (take(']')) return true;
    std::string_view value;
    do {
      if (!take_value(value, depth)) return false;
    } while (take(','));
    return take(']');
  }

  std::size_t take_digits() {
    const auto end = std::min(left_.find_first_not_of("0123456789"), left_.size());
    left_.remove_prefix(end);
    return end;
  }

  bool take_word() {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return true;
    }
    if (left_.starts_with('-')) left_.remove_prefix(1);
    const bool zero = left_.starts_with('0');
    const std::size_t digits = take_digits();
    if (digits == 0 || (zero && digits > 1)) return false;
    if (left_.starts_with('.')) {
      left_.remove_prefix(1);
      if (take_digits() == 0) return false;
    }
    if (!left_.starts_with('e') && !left_.starts_with('E')) return true;
    left_.remove_prefix(1);
    if (left_.starts_with('+') || left_.starts_with('-')) left_.remove_prefix(1);
    return take_digits() != 0;
  }

  std::string_view left_;
};

}  // namespace

std::optional<JsonMembers> JsonMembers::of(std::string_view object) {
  JsonMembers made;
  JsonScanner scanner(object);
  if (!scanner.take_members(&made.members_, 0) || !scanner.at_end()) return std::nullopt;
  return made;
}

std::string_view JsonMembers::json(std::string_view key) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const Member& each) { return each.key == key; });
  return found != members_.end() ? found->value : std::string_view();
}

std::string_view JsonMembers::string(std::string_view key) const {
  const std::string_view value = json(key);
  return value.starts_with('"') ? value.substr(1, value.size() - 2) : std::string_view();
}

std::optional<std::int64_t> JsonMembers::number(std::string_view key) const {
  const std::string_view value = json(key);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> JsonMembers::nanoseconds(std::string_view key) const {
  const std::string_view value = json(key);
  const std::size_t point = std::min(value.find('.'), value.size());
  std::string digits(value.substr(0, point));
  const std::string_view fraction = point < value.size() ? value.substr(point + 1) : std::string_view();
  if (digits.empty() || fraction.size() > 3) return std::nullopt;
  digits.append(fraction).append(3 - fraction.size(), '0');
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string microseconds_of(std::int64_t ns) {
  std::array<char, 32> text{};
  const long long size = std::abs(static_cast<long long>(ns));
  std::snprintf(text.data(), text.size(), "%s%lld.%03lld", ns < 0 ? "-" : "", size / 1000, size % 1000);
  return text.data();
}

}  // namespace cleave::observe
