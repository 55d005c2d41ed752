// Paths of statistics and traces.
#pragma once

#include <string>

namespace cleave::observe {

// Replaces each "%p" by the process id, so that processes do not overwrite each other's files.
std::string with_process_id(std::string path);

}  // namespace cleave::observe
