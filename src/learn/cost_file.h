// The text form in which measured costs are kept between runs: one line per kernel, size and device,
//
//   1 KEY DURATION SLICES LOSS SLICES LOSS ... CHECK
//
// that is: the version of the format, a hash, nanoseconds, numbers of slices with the loss of each in millionths, and
// a hash of everything before it. Lines that do not match exactly are ignored: other versions, truncated lines and
// foreign text.
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

// All valid lines of `text`; the last one if several have the same key. At most kMaxLines: the last ones.
std::vector<CostLine> parse_lines(std::string_view text);

// `old` followed by `news`, which replaces lines with the same keys. Beyond kMaxLines the oldest lines are dropped.
std::string merge_lines(std::string_view old, const std::vector<CostLine>& news);

inline constexpr std::size_t kMaxLines = 2000;

}  // namespace cleave::learn
