#include "base/text/display_text.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/json.h"

namespace cleave::base {
namespace {

std::string encoded(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0U | code >> 6U), byte(0x80U | (code & 0x3fU))};
  if (code < 0x10000)
    return {byte(0xe0U | code >> 12U), byte(0x80U | (code >> 6U & 0x3fU)), byte(0x80U | (code & 0x3fU))};
  return {byte(0xf0U | code >> 18U), byte(0x80U | (code >> 12U & 0x3fU)), byte(0x80U | (code >> 6U & 0x3fU)),
          byte(0x80U | (code & 0x3fU))};
}

// What a terminal or a reader of a log must never get from outside.
std::vector<std::uint32_t> hidden() {
  std::vector<std::uint32_t> all;
  const auto add = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t code = first; code <= last; ++code) all.push_back(code);
  };
  add(0x00, 0x1f);
  add(0x7f, 0x9f);
  add(0x200e, 0x200f);
  add(0x2028, 0x202e);
  add(0x2066, 0x2069);
  add(0x061c, 0x061c);
  add(0xfeff, 0xfeff);
  return all;
}

TEST(DisplayText, HidesControlsOfEveryKindAndMarksOfDirection) {
  for (const std::uint32_t code : hidden()) {
    const std::string text = "a" + encoded(code) + "b";
    EXPECT_EQ(displayable(text), "a?b") << std::hex << code;
    EXPECT_EQ(displayable_ascii(text), "a?b") << std::hex << code;
    EXPECT_EQ(displayable_lines(text), code == '\n' ? "a\nb" : "a?b") << std::hex << code;
  }
}

TEST(DisplayText, KeepsTextOfAnyLanguage) {
  for (const char* text : {"plain ~", "Grüße", "日本語", "עברית", "العربية", "𝒳 😀", "é", "a b"}) {
    EXPECT_EQ(displayable(text), text);
  }
  EXPECT_EQ(displayable_ascii("Grüße"), "Gr??e");
}

TEST(DisplayText, IsValidUtf8) {
  EXPECT_EQ(displayable("a\xff\xfe"), "a??");
  EXPECT_EQ(displayable("\xc2"), "?") << "cut off";
  EXPECT_EQ(displayable("\xe2\x80"), "??");
  EXPECT_EQ(displayable("\x9b"), "?") << "the byte that terminals with Latin-1 take for a command";
  EXPECT_EQ(displayable("\xc0\x9b"), "??") << "overlong";
  EXPECT_EQ(displayable("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(displayable("\xf4\x90\x80\x80"), "????") << "beyond U+10FFFF";
  EXPECT_EQ(displayable(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(displayable(""), "");
}

TEST(DisplayText, JsonEscapesWhatMayNotBeDisplayed) {
  for (const std::uint32_t code : hidden()) {
    const std::string json = base::quoted("a" + encoded(code) + "b");
    EXPECT_EQ(displayable(json), json) << std::hex << code;
  }
  EXPECT_EQ(base::quoted("\u009b\u202e\x7f"), R"("\u009b\u202e\u007f")");
  EXPECT_EQ(base::quoted("\U000e0041"), R"("\udb40\udc41")");
  EXPECT_EQ(base::quoted("Grüße"), "\"Grüße\"");
  EXPECT_EQ(base::escaped("{\"é\":\n\"a\u009b\xff\"}"), "{\"é\":\n\"a\\u009b\\ufffd\"}");
}

}  // namespace
}  // namespace cleave::base
