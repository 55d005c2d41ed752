// The live screen's help on its keys and columns.
//
// Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

std::vector<std::string> help_lines();

}  // namespace cleave::cli
