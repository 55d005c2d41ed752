// The counters in words: for people on standard error, and as JSON for programs. Their meaning is documented
// in docs/statistics.md.
#pragma once

#include <string>
#include <vector>

#include "observe/counters.h"

namespace cleave::observe {

// What a summary needs to know beside the counters.
struct Circumstances {
  unsigned vms = 1;
  std::string policy;                           // as the user would write it
  std::array<const char*, kReasons> reasons{};  // names of the reasons for staying whole
};

// A table of a few lines, each beginning with "cleave: ". Empty without launches.
std::string as_text(const std::vector<Counters::Named>& kernels, const Circumstances& circumstances);

// One JSON object and a newline.
std::string as_json(const std::vector<Counters::Named>& kernels, const Circumstances& circumstances);

}  // namespace cleave::observe
