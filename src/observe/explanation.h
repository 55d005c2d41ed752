// Why launches were not split, in sentences for the user: as text for standard error and as JSON. The sentences come from
// the caller. docs/statistics.md describes both forms.
//
// Thread-safe: values and pure functions. They may throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "observe/counters.h"

namespace cleave::observe {

// What a reason comes from in the program.
struct Finding {
  std::string text;       // one sentence without a full stop
  std::string construct;  // as it is written in the source; empty if there is none
  std::string file;       // of an included text; empty: the program's own
  unsigned line = 0;      // counted from 1; 0: none

  friend bool operator==(const Finding&, const Finding&) = default;
};

// One reason for which launches of a kernel were not split.
struct Explanation {
  std::string reason;  // its name in the statistics
  std::uint64_t launches = 0;
  std::string cause;   // one sentence without a full stop
  std::string advice;  // what the user can do, or "nothing" and why
  std::vector<Finding> findings;
};

// By the name of the kernel. Kernels of which every launch was split have none.
using Explanations = std::map<std::string, std::vector<Explanation>>;

// Some lines for each kernel with unsplit launches, each starting with "cleave: ". If there is no such kernel, or no
// launch, one line that says so.
std::string as_text(const std::vector<Counters::Named>& kernels, const Explanations& explanations);

// A JSON list of objects.
std::string as_json(const std::vector<Explanation>& explanations);

}  // namespace cleave::observe
