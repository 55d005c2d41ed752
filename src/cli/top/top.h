// `cleave top`: shows the processes under Cleave on this machine, the holders of its devices, and the number of VMs on
// the host.
#pragma once

#include <chrono>
#include <string>

#include "cli/top/live/controls.h"

namespace cleave::cli {

struct TopRequest {
  bool once = false;
  bool json = false;
  std::chrono::milliseconds interval{1000};
  bool chooses_view = false;  // whether the user has given options of the view
  ViewOptions view;           // of the live screen, except its interval
  std::string metrics;        // the address to serve them on; empty: none
};

// Returns the exit status: 0; 1 if metrics cannot be served; 2 if options contradict each other, or a live view is requested
// without a terminal on which it can be drawn.
int top(const TopRequest& request);

}  // namespace cleave::cli
