// Merges trace files of several processes, also of different hosts, into one. docs/trace.md says what is in it.
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::observe {

struct MergedTrace {
  std::string problem;  // for people; not empty: there is no merged file
  std::size_t processes = 0;
  std::uint64_t events = 0;
  std::uint64_t arrows = 0;
  std::vector<std::string> clocks;  // for people: a line for each clock that was aligned
  std::vector<std::string> notes;   // the same, for each side of a connection without a file
};

// Writes `out`, which appears as a whole or not at all. Times are those of the first file's clock.
MergedTrace merge_traces(const std::string& out, const std::vector<std::string>& files);

}  // namespace cleave::observe
