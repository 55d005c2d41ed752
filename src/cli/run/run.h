// `cleave run`: the program, unchanged, with Cleave between it and OpenCL.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cleave::cli {

struct RunRequest {
  std::vector<std::pair<std::string, std::string>> settings;  // environment variables and their values
  std::vector<std::string> command;  // the program and its arguments, as they were given
};

// Sets the environment and becomes the program, whose exit status and signals are then its own. Returns only
// where that fails, having said why in one line on standard error: 127 where there is no such program, 126
// where it cannot be executed, 1 where Cleave's own libraries are missing.
int run(const RunRequest& request);

}  // namespace cleave::cli
