// `cleave top`: the processes under Cleave on this machine, and how many share the host.
#pragma once

#include <chrono>

namespace cleave::cli {

struct TopRequest {
  bool once = false;
  bool json = false;
  std::chrono::milliseconds interval{1000};
};

// Returns the exit status: 0, or 2 where it was asked for a live view without a terminal.
int top(const TopRequest& request);

}  // namespace cleave::cli
