// What `cleave top` shows, as text and as JSON. Plain functions: no terminal, no files.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/top/processes.h"

namespace cleave::cli {

// One look at the machine.
struct Snapshot {
  std::string vms;      // how many share the host; empty: not known yet
  std::string sources;  // "monitor: connected", ...; empty where the number is set by hand
  std::vector<RunningProcess> processes;
  std::chrono::steady_clock::time_point at;
};

// A heading and a line for each process, each line at most `width` characters (0: as long as they are). Rates
// are those since the look `before`; without one they are left out.
std::vector<std::string> as_lines(const Snapshot& look, const Snapshot* before, std::size_t width);

// One object and a newline.
std::string as_json(const Snapshot& look);

}  // namespace cleave::cli
