// The command line of `cleave slurm`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/slurm/slurm.h"

namespace cleave::cli {

struct SlurmRequest {
  SlurmRunRequest run;
  SlurmSessionRequest session;
  SlurmServeRequest serve;
  SlurmClientRequest client;
};

// Adds the subcommand, which fills `request`; returns it.
const CLI::App& add_slurm(CLI::App& app, SlurmRequest& request);

// Carries out what was parsed. `program`: what followed the options. Returns the exit status.
int slurm(const CLI::App& command, SlurmRequest& request, const Words& program);

}  // namespace cleave::cli
