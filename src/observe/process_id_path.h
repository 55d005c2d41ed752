// Paths as users write them for what Cleave reports.
#pragma once

#include <string>

namespace cleave::observe {

// "%p" in a path stands for the process id, so that processes do not write over each other's files.
std::string with_process_id(std::string path);

}  // namespace cleave::observe
