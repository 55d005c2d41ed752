// The text form in which the costs of programs' runs (offload.h) are kept: one line for each program and device,
//
//   1 PROGRAM DEVICE RUNS COMPUTE LINK LINK_COST ROUND_TRIPS BYTES CHECK
//
// with hashes, a number, nanoseconds, and what a run moves. Lines that do not match exactly are ignored (checked_lines.h).
//
// Thread-safe: all functions are pure. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "learn/offload.h"

namespace cleave::learn {

struct RunLine {
  std::uint64_t program = 0;  // the command line: a program with other arguments is another one
  std::uint64_t device = 0;
  RunCost cost;
};

// One line, with its newline.
std::string format_run(const RunLine& line);

// All valid lines of one program; the last one if a device has several.
std::vector<RunLine> runs_of(std::string_view text, std::uint64_t program);

// `old` with the line of this program and device updated by a run. Beyond kMaxRunLines the oldest lines are dropped.
std::string with_run(std::string_view old, const RunLine& run);

inline constexpr std::size_t kMaxRunLines = 1000;

}  // namespace cleave::learn
