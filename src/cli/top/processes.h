// The processes under Cleave on this machine, from their registry (include/cleave/registry.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cleave::cli {

struct RunningProcess {
  std::string file;  // identifies the process, also if two have the same pid
  unsigned pid = 0;
  std::string program;  // printable ASCII; other characters are replaced by '?'
  unsigned vms = 1;
  unsigned devices = 0;
  std::vector<std::string> turn_files;    // of these devices (src/turns/shared_file.h)
  std::vector<std::string> memory_files;  // of the same, in the same order (src/limits/memory_ledger.h)
  uid_t user = 0;                         // whose it is
  std::uint64_t started = 0;              // seconds since 1970
  std::uint64_t launches = 0;
  std::uint64_t split = 0;
  std::uint64_t slices = 0;
  std::uint64_t unsplit = 0;
  std::uint64_t added_ns = 0;
};

// The live processes, sorted by pid. Empty if there is no such folder.
std::vector<RunningProcess> running_processes(const std::string& folder);

}  // namespace cleave::cli
