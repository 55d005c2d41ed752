// Formats the output of `cleave top` as text and as JSON. Pure functions.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/top/processes.h"
#include "cli/top/turns.h"

namespace cleave::cli {

struct Snapshot {
  std::string vms;      // the number of VMs on the host; empty: not known yet
  std::string sources;  // "monitor: connected", ...; empty if the user has set the number
  std::vector<RunningProcess> processes;
  std::vector<SharedDevice> devices;
  std::chrono::steady_clock::time_point at;
};

// "cleave top: 2 VMs on the host (monitor: connected), 3 processes under Cleave"
std::string heading(const Snapshot& look);

// A heading, a line for each process, and for each device that is used in turns a heading and a line for each participant; of at
// most `width` characters (0: unlimited). Rates and shares are relative to `before`; without it they are left out.
std::vector<std::string> as_lines(const Snapshot& look, const Snapshot* before, std::size_t width);

// One object, with a newline. Shares are relative to `before`; without it they are null.
std::string as_json(const Snapshot& look, const Snapshot* before);

}  // namespace cleave::cli
