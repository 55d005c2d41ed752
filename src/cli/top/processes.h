// The processes under Cleave on this machine, from their registry (include/cleave/registry.h). Whoever may
// write there may write anything: nothing in it is believed before it has been looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::cli {

struct RunningProcess {
  std::string file;  // tells one process from another, also where both have the same number
  unsigned pid = 0;
  std::string program;  // printable ASCII; other characters have become '?'
  unsigned vms = 1;
  unsigned devices = 0;
  std::uint64_t started = 0;  // seconds since 1970
  std::uint64_t launches = 0;
  std::uint64_t split = 0;
  std::uint64_t slices = 0;
  std::uint64_t whole = 0;
  std::uint64_t added_ns = 0;
};

// Those that live, by their numbers. Empty where there is no such folder.
std::vector<RunningProcess> running_processes(const std::string& folder);

}  // namespace cleave::cli
