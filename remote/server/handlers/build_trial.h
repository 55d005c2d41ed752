// Finds out whether a build keeps within the server's limits, before the driver makes it here (builds/build_trials.h).
//
// Thread-safe: for build threads. Waits for the trial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "remote/server/handlers/held_program.h"
#include "remote/server/messages.h"

namespace cleave::remote::server {

// A build as the driver is about to get it.
struct WantedBuild {
  ipc::TrialWork work = ipc::TrialWork::build;
  std::vector<cl_device_id> devices;  // empty: all of the program's; not for linking
  std::string folder;
  const char* options;                       // may be null
  const std::vector<HeldProgram>& programs;  // as of TrialRequest (messages.fbs)
  std::vector<std::string> names;
};

struct Refusal {
  cl_int error = CL_SUCCESS;
  std::string log;  // empty: none
};

// Empty: the build may be made. What the driver cannot do in another process may be, too.
std::optional<Refusal> refusal_of(SessionContext& session, const WantedBuild& build);

}  // namespace cleave::remote::server
