// The live screen as lines of styled text, laid out for any size of the terminal.
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/top/live/controls.h"
#include "cli/top/live/rows.h"

namespace cleave::cli {

enum class Style : std::uint8_t { plain, title, header, sorted, holds, waits, history, bar, key };
inline constexpr std::size_t kStyles = 9;

// Each character takes one cell: ASCII, or a block element in UTF-8.
struct StyledText {
  std::string text;
  Style style = Style::plain;
};
using StyledLine = std::vector<StyledText>;

// In characters.
struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 24;
};

// As many lines as the screen has at most, each of its width at most. `unicode`: whether there are block elements.
std::vector<StyledLine> layout(const TopScene& scene, const Controls& controls, ScreenSize size,
                               bool unicode);

// What the keys move in on such a screen.
Extent extent_of(const TopScene& scene, const Controls& controls, ScreenSize size);

}  // namespace cleave::cli
