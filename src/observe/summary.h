// Formats the counters as text for standard error and as JSON for programs. docs/statistics.md defines the values.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/counters.h"
#include "observe/explanation.h"

namespace cleave::observe {

// Where the number of VMs comes from, in the words of the statistics.
struct NeighbourFigures {
  std::string source;  // as the user would write it
  std::string state;
  std::uint64_t stale = 0;    // how often a source was silent for too long
  std::uint64_t changes = 0;  // how often the number changed
  // With the policy `pressure`: the pressure in thousandths, empty while it is not known, and the restraint.
  std::optional<unsigned> pressure = {};
  std::optional<unsigned> restraint = {};
};

// The program's waits during which Cleave slept, and the total time slept.
struct WaitFigures {
  std::uint64_t sleeping = 0;
  base::Nanoseconds slept{0};
};

// Measured costs of one kernel in one size (policies `budget` and `quantum`).
struct CostFigures {
  std::string launch;  // name of the kernel and its size
  std::string words;   // description for users
  std::size_t slices = 1;
  double loss = 0;
  base::Nanoseconds duration{0};
  std::uint64_t measured = 0;  // launches
};

// The processes that a process has waited for.
struct WaitCauseFigures {
  std::string tenant;  // empty: none
  unsigned pid = 0;    // 0: of several processes
  base::Nanoseconds waited{0};
};

// What the process has had of the turns on one device.
struct TurnFigures {
  std::string device;          // its name
  std::string file;            // of those that share it, in the registry's folder
  std::string state;           // in the words of the statistics
  std::string problem;         // why there are no turns; empty: there are, or may be
  std::uint64_t launches = 0;  // made in turns
  std::uint64_t turns = 0;
  std::uint64_t stalls = 0;  // times that a command did not end in time
  base::Nanoseconds waited{0};
  base::Nanoseconds longest_wait{0};
  base::Nanoseconds held{0};
  base::Nanoseconds capped{0};  // of `waited`, for its own cap
  std::vector<WaitCauseFigures> waited_for{};
};

struct TurnsSummary {
  std::vector<TurnFigures> devices;
  // Launches that took no turn on a shared device, by reason.
  std::vector<std::pair<const char*, std::uint64_t>> exempt;
};

// The memory of the process's objects on one device, where it is counted.
struct MemoryFigures {
  std::string device;
  std::uint64_t bytes = 0;
  std::uint64_t peak = 0;
  std::uint64_t limit = 0;    // 0: none
  std::uint64_t refused = 0;  // objects that were not created because of it
};

// Everything that a summary needs in addition to the counters.
struct SummaryContext {
  unsigned vms = 1;
  NeighbourFigures neighbours;
  WaitFigures waits;
  TurnsSummary turns;
  std::string tenant;  // empty: none
  std::vector<MemoryFigures> memory;
  std::vector<CostFigures> costs;
  std::string policy;                                      // as the user would write it
  std::array<const char*, kUnsplitReasonCount> reasons{};  // those of the same name are counted together
  std::array<const char*, kSingleQueueReasonCount> queued_reasons{};
  Explanations explanations;
};

// A table of a few lines, each starting with "cleave: ". One line that says so without launches.
std::string as_text(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context);

// One JSON object and a newline.
std::string as_json(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context);

}  // namespace cleave::observe
