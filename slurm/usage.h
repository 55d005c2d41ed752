// What a job has used of this node's GPUs, and how that is reported to Slurm's accounting: as one part, for each node,
// of the text in the job's AdminComment, which sacct shows and no user can change.
//
//   cleave gpu1 device=12.345s waited=3.210s processes=4 memory=262144k; cleave gpu2 ...
//
// No other field of a job's record is suitable: only Slurm's own plugins fill sacct's resources (TRES), and the
// controller accepts changes of a job (scontrol) only while it runs, which a cancelled job no longer does. So the
// change goes to the accounting daemon (sacctmgr), after the job's end.
//
// Thread-safe: pure, but for usage_of(), which closes the job's accounts, and what_processes_wrote(). May throw
// std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>

namespace cleave::slurm {

struct Usage {
  std::uint64_t device = 0;  // ns
  std::uint64_t waited = 0;  // ns, for turns
  std::uint64_t processes = 0;
  std::uint64_t memory = 0;  // bytes: the most that a process had, as far as processes have said so
};

// Of all steps of the job on this node, whose processes have ended. `registry`: the folder of CLEAVE_REGISTRY.
Usage usage_of(const std::string& registry, const std::string& job);

// The largest number after "peak_bytes": in the statistics (CLEAVE_STATS) that processes of the job have left in this
// folder. They are the user's, and not trusted: what is no such number counts as 0.
std::uint64_t largest_peak(const std::string& folder);

// In small letters.
std::string text_of(const Usage& usage, const std::string& node);

// `comment` with this part added, or put in place of the one of the same node.
std::string with_part(const std::string& comment, const std::string& part);

}  // namespace cleave::slurm
