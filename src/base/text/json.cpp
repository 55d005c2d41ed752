#include "base/text/json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "base/text/display_text.h"

namespace cleave::base {
namespace {

void append_escaped(std::string& result, std::uint32_t unit) {
  std::array<char, 16> escape{};
  std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(unit));
  result.append(escape.data());
}

// As one or two units of UTF-16.
void append_escaped(std::string& result, std::string_view character) {
  const std::uint32_t code = code_point(character);
  if (code < 0x10000U) return append_escaped(result, code);
  append_escaped(result, 0xd800U + ((code - 0x10000U) >> 10U));
  append_escaped(result, 0xdc00U + ((code - 0x10000U) & 0x3ffU));
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      result.append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      result.append({'\\', c});
    } else if (!is_displayable(text.substr(0, length))) {
      append_escaped(result, text.substr(0, length));
    } else {
      result.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result.append("\"");
}

std::string escaped(std::string_view json) {
  std::string result;
  while (!json.empty()) {
    const std::size_t length = utf8_length(json);
    const std::string_view character = json.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0) {
      result.append("\\ufffd");
    } else if (is_displayable(character) || static_cast<unsigned char>(character[0]) < 0x20U) {
      result.append(character);
    } else {
      append_escaped(result, character);
    }
    json.remove_prefix(character.size());
  }
  return result;
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
