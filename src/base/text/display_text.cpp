#include "base/text/display_text.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cleave::base {
namespace {

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array<Range, 10> kHidden = {{
    {0x00, 0x1f},        // C0
    {0x7f, 0x9f},        // DEL and C1
    {0x061c, 0x061c},    // Arabic letter mark
    {0x200e, 0x200f},    // left-to-right and right-to-left marks
    {0x2028, 0x202e},    // line and paragraph separators, embeddings and overrides
    {0x2066, 0x206f},    // isolates, and deprecated marks for shapes
    {0xfeff, 0xfeff},    // byte order mark
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // tags
    {0xfffe, 0xffff},    // no characters
}};

template <typename Keep>
std::string filtered(std::string_view text, Keep keep) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    length != 0 && keep(character) ? result.append(character) : result.append("?");
    text.remove_prefix(character.size());
  }
  return result;
}

}  // namespace

// Overlong encodings, surrogates and characters beyond U+10FFFF are recognized by their first two bytes.
std::size_t utf8_length(std::string_view text) noexcept {
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

std::uint32_t code_point(std::string_view character) noexcept {
  static constexpr std::array<std::uint32_t, 5> kFirst{0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t code = static_cast<unsigned char>(character[0]) & kFirst[character.size()];
  for (const char c : character.substr(1)) code = code << 6U | (static_cast<unsigned char>(c) & 0x3fU);
  return code;
}

bool is_displayable(std::string_view character) noexcept {
  const std::uint32_t code = code_point(character);
  return std::none_of(kHidden.begin(), kHidden.end(),
                      [code](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string displayable(std::string_view text) { return filtered(text, is_displayable); }

std::string displayable_lines(std::string_view text) {
  return filtered(text,
                  [](std::string_view character) { return character == "\n" || is_displayable(character); });
}

std::string displayable_ascii(std::string_view text) {
  return filtered(
      text, [](std::string_view character) { return character.size() == 1 && is_displayable(character); });
}

}  // namespace cleave::base
