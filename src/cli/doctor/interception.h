// Would `cleave run PROGRAM` catch that program's OpenCL calls? Answered from its file, without running it.
#pragma once

#include <string>
#include <vector>

#include "cli/system/installation.h"

namespace cleave::cli {

struct Finding {
  enum class Severity { ok, note, problem };
  Severity mark;
  std::string text;
  std::string remedy;  // for problems always, else where there is something to do
};

// In the order in which they should be read. The program is caught where none is a problem. `registered`:
// whether the vendor library catches what `cleave run` does not.
std::vector<Finding> examine_program(const std::string& name, const Installation& cleave, bool registered);

}  // namespace cleave::cli
