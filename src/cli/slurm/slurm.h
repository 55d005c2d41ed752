// `cleave slurm`: a program on a node without a GPU uses those of other nodes, all within one Slurm job (docs/slurm.md).
//
//   run      allocates a heterogeneous job (salloc) and becomes the session in it
//   session  in the allocation: starts the servers as one step, then the program as another, and ends one with the other
//   serve    a task of the servers' step: cleave-serverd with a key, a certificate and the job's token
//   client   a task of the program's step: the program, with the servers' devices
//
// All of them print single lines on standard error, and nothing on standard output, except for what `serve` reports to the session.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace cleave::cli {

using Words = std::vector<std::string>;

struct SlurmRunRequest {
  unsigned shards = 1;             // on each node with a GPU
  unsigned nodes = 1;              // with a GPU
  unsigned tasks = 1;              // of the program
  std::string partition;           // of the program; empty: Slurm's default
  std::string gpu_partition;       // of the servers; empty: Slurm's default
  std::string time;                // the limit; empty: Slurm's default
  Words options;                   // more words for salloc, for the program's component
  Words gpu_options;               // the same for the servers' component
  std::chrono::seconds check{30};  // between each task's checks whether the job still runs
  Words command;                   // the program and its arguments
};

struct SlurmSessionRequest {
  unsigned program_group = 0;  // the components of the heterogeneous job
  unsigned gpu_group = 1;
  std::chrono::seconds check{30};
  bool owns_allocation = true;  // which ends with the session
  Words command;
};

struct SlurmServeRequest {
  std::string
      exchange;  // the folder in which servers and program find each other; empty: a session starts both
  std::chrono::seconds check{30};  // between checks whether the job still runs
  Words options;                   // of cleave-serverd, in addition
};

struct SlurmClientRequest {
  std::string exchange;
  std::chrono::seconds check{30};
  Words command;
};

// Returns only if the allocation cannot be requested; becomes salloc otherwise. Within a heterogeneous allocation it is the
// session.
int slurm_run(const SlurmRunRequest& request);

// The program's exit status; 1 if the servers could not be started, or ended before the program.
int slurm_session(const SlurmSessionRequest& request);

int slurm_serve(const SlurmServeRequest& request);
int slurm_client(const SlurmClientRequest& request);

}  // namespace cleave::cli
