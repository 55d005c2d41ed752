// Runs one of Slurm's commands, from a prolog or epilog.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace cleave::slurm {

struct CommandResult {
  int status = 127;    // as a shell has it
  std::string output;  // of both streams
};

// Without a shell; found where system commands are, since slurmd's own environment may have no PATH. Killed after `limit`.
CommandResult run_command(const std::vector<std::string>& words, std::chrono::milliseconds limit);

}  // namespace cleave::slurm
