// The devices that processes under Cleave use in turns (src/turns/report.h), with the names of their programs.
#pragma once

#include <string>
#include <vector>

#include "cli/top/processes.h"
#include "turns/report.h"

namespace cleave::cli {

struct TurnTaker {
  turns::ParticipantReport report;
  std::string program;  // empty if the process is not in the registry, or several there have its number
};

struct SharedDevice {
  std::string file;     // its name, in the registry's folder
  std::string device;   // printable; empty if unknown
  std::string problem;  // why the file cannot be used; empty if it can
  std::vector<TurnTaker> takers;
  std::vector<turns::TenantReport> tenants{};
  bool is_declared = true;  // an intent, by any process; else no turns are taken

  // Whether there are turns: two processes that live.
  [[nodiscard]] bool is_shared() const;
};

// Those whose files are in that folder, sorted by the files' names.
std::vector<SharedDevice> shared_devices(const std::string& folder,
                                         const std::vector<RunningProcess>& processes);

// In the words of CLEAVE_PRIORITY.
const char* name(turns::Priority priority);

}  // namespace cleave::cli
