// `cleave run`: runs a program, unchanged, with Cleave between it and OpenCL.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cleave::cli {

struct RunRequest {
  std::vector<std::pair<std::string, std::string>> settings;  // environment variables and their values
  bool explain = false;                                       // whatever statistics are wanted
  std::vector<std::string> command;                           // the program and its arguments
};

// Sets the environment and replaces this process with the program. Returns only if that fails, after printing one line on
// standard error: 127 if there is no such program, 126 if it cannot be executed, 1 if Cleave's libraries are missing.
int run(const RunRequest& request);

}  // namespace cleave::cli
