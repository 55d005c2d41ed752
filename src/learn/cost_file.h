// The text in which what was learnt is kept between runs: a line for each kernel, size and device,
//
//   1 KEY DURATION SLICES LOSS SLICES LOSS ... CHECK
//
// the version of the format, a hash, nanoseconds, numbers of slices with the loss of each in millionths, and
// a hash of all before it. Whatever is not exactly that is left out: lines of other versions, halves of
// lines, and what somebody else has written there.
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "learn/cost_model.h"

namespace cleave::learn {

struct CostLine {
  std::uint64_t key = 0;
  base::Nanoseconds duration{0};
  CostModel::Losses losses{};
};

// One line, with its newline.
std::string format_line(const CostLine& line);

// All lines of `text` that are in order; of several for one key the last. At most kMaxLines: the last ones.
std::vector<CostLine> parse_lines(std::string_view text);

// `old` with `news` behind it, in place of lines for the same keys; the oldest are left out beyond
// kMaxLines.
std::string merge_lines(std::string_view old, const std::vector<CostLine>& news);

inline constexpr std::size_t kMaxLines = 2000;

}  // namespace cleave::learn
