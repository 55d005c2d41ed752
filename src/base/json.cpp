#include "base/json.h"

#include <array>
#include <cstdio>

namespace cleave::base {
namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
}

// The length in bytes of the UTF-8 character at the start of `text`; 0 if it is invalid. (Overlong encodings,
// surrogates and characters beyond U+10FFFF are recognized by their first two bytes.)
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80U) return 1;
  const std::size_t length = first >= 0xf0U ? 4 : (first >= 0xe0U ? 3 : 2);
  if (first < 0xc2U || first > 0xf4U) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, i)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool good = (first != 0xe0U || second >= 0xa0U) && (first != 0xedU || second < 0xa0U) &&
                    (first != 0xf0U || second >= 0x90U) && (first != 0xf4U || second < 0x90U);
  return good ? length : 0;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character(text);
    const char c = text[0];
    if (length == 0) {
      result.append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      result.append({'\\', c});
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20U) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
      result.append(escape.data());
    } else {
      result.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result.append("\"");
}

JsonObject& JsonObject::add_json(std::string_view key, std::string_view json) {
  if (text_.size() > 1) text_.push_back(',');
  text_.append(quoted(key)).append(":").append(json);
  return *this;
}

void JsonList::add_json(std::string_view json) {
  if (text_.size() > 1) text_.push_back(',');
  text_.append(json);
}

}  // namespace cleave::base
