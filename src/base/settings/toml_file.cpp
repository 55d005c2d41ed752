#include "base/settings/toml_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/files/regular_file.h"

// Some malformed files violate the library's assertions. With the assertions off, it continues and reports them.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
// The parser recurses with each nested value and key part, and the calling thread may have a small stack.
#define TOML_MAX_NESTED_VALUES 8
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace cleave::base {
namespace {

constexpr std::size_t kMaxFileSize = 1 << 20;
constexpr std::ptrdiff_t kMaxDots = 100;  // in one line: bounds the parts of a key

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The library fails on non-ASCII characters in places where they are not allowed. So their bytes, and "%" itself,
// are passed through it percent-encoded.
std::string escape_non_ascii(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string ascii;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && c != '%') {
      ascii.push_back(c);
    } else {
      ascii.append({'%', kDigits[byte / 16], kDigits[byte % 16]});
    }
  }
  return ascii;
}

std::string unescape(std::string_view ascii) {
  std::string text;
  for (std::size_t i = 0; i < ascii.size(); ++i) {
    unsigned byte = 0;
    const std::string_view digits = ascii.substr(i + 1, 2);
    const bool one = ascii[i] == '%' && digits.size() == 2 &&
                     std::from_chars(digits.data(), digits.data() + 2, byte, 16).ptr == digits.data() + 2;
    text.push_back(one ? static_cast<char>(byte) : ascii[i]);
    if (one) i += 2;
  }
  return text;
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return unescape(text->get());
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return std::to_string(number->get());
  if (const auto* truth = node.as_boolean()) return std::string(truth->get() ? "true" : "false");
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::string joined;
  for (const auto& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return std::nullopt;
    joined.append(joined.empty() ? "" : ",").append(unescape(text->get()));
  }
  return joined;
}

void flatten(const toml::table& table, std::vector<std::string>& path, TomlFile& result) {
  for (const auto& [key, node] : table) {
    path.push_back(unescape(key.str()));
    if (const auto* inner = node.as_table()) {
      if (inner->empty()) result.empty_tables.push_back({path, {}, node.source().begin.line});
      flatten(*inner, path, result);
    } else {
      const auto text = text_of(node);
      result.values.push_back({path, text.value_or("(neither text nor number)"), node.source().begin.line,
                               node.is_integer(), node.is_string()});
    }
    path.pop_back();
  }
}

// The first line whose key may have too many parts for the parser's recursion; 0 if there is none.
std::size_t line_with_too_many_dots(std::string_view text) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view rest = text.substr(0, text.find('\n'));
    if (std::count(rest.begin(), rest.end(), '.') > kMaxDots) return line;
    text.remove_prefix(std::min(rest.size() + 1, text.size()));
  }
  return 0;
}

TomlFile read(const std::string& path) {
  FileText file = read_regular_file(path, kMaxFileSize);
  if (file.text) return parse_toml(std::move(*file.text), path);
  TomlFile result;
  result.exists = result.unreadable = file.exists;
  if (file.exists) result.error = file.problem;
  return result;
}

}  // namespace

TomlFile parse_toml(std::string text, const std::string& path) {
  TomlFile result;
  result.exists = true;
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (const std::size_t line = line_with_too_many_dots(text); line != 0) {
    result.error = "line " + std::to_string(line) + ": more than " + std::to_string(kMaxDots) + " dots";
    return result;
  }
  const toml::parse_result parsed = toml::parse(escape_non_ascii(text), path);
  if (!parsed) {
    const auto& error = parsed.error();
    result.error =
        "line " + std::to_string(error.source().begin.line) + ": " + std::string(error.description());
    for (char& c : result.error) {
      if (c == '\n') c = ' ';
    }
    return result;
  }
  std::vector<std::string> keys;
  flatten(parsed.table(), keys, result);
  return result;
}

TomlFile read_toml(const std::string& path) try { return read(path); } catch (...) {
  TomlFile failed;
  failed.exists = failed.unreadable = true;
  failed.error = "cannot be read: out of memory";
  return failed;
}

}  // namespace cleave::base
