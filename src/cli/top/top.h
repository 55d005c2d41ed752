// `cleave top`: shows the processes under Cleave on this machine, who has which device, and the number of VMs on
// the host.
#pragma once

#include <chrono>
#include <string>

namespace cleave::cli {

struct TopRequest {
  bool once = false;
  bool json = false;
  std::chrono::milliseconds interval{1000};
  std::string metrics;  // the address to serve them on; empty: none
};

// Returns the exit status: 0; 1 if metrics cannot be served; 2 if a live view is requested without a terminal.
int top(const TopRequest& request);

}  // namespace cleave::cli
