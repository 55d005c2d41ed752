// Examines a program's file, without running it, to tell whether `cleave run PROGRAM` would intercept its OpenCL calls.
#pragma once

#include <string>
#include <vector>

#include "cli/system/installation.h"

namespace cleave::cli {

struct Finding {
  enum class Severity { ok, note, problem };
  Severity severity;
  std::string text;
  std::string remedy;  // never empty for problems
};

// The findings, in the order to be read. The program is intercepted if none of them is a problem. `registered`: the vendor
// library is registered, which also intercepts programs that `cleave run` cannot.
std::vector<Finding> examine_program(const std::string& name, const Installation& cleave, bool registered);

}  // namespace cleave::cli
