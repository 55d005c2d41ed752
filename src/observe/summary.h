// The counters in words: for people on standard error, and as JSON for programs. Their meaning is documented
// in docs/statistics.md.
#pragma once

#include <string>
#include <vector>

#include "observe/counters.h"

namespace cleave::observe {

// Where the number of VMs comes from, in the words of the statistics.
struct NeighbourFigures {
  std::string source;  // as the user would write it
  std::string state;
  std::uint64_t stale = 0;    // times that a source was silent for too long
  std::uint64_t changes = 0;  // times that the number changed
};

// Waits of the program's in which it was Cleave that slept, and for how long altogether.
struct WaitFigures {
  std::uint64_t polite = 0;
  base::Nanoseconds slept{0};
};

// What was learnt of one kernel in one size (the policies `budget` and `quantum`).
struct CostFigures {
  std::string launch;  // name of the kernel and its size
  std::string words;   // what came of it, for people
  std::size_t slices = 1;
  double loss = 0;
  base::Nanoseconds duration{0};
  std::uint64_t measured = 0;  // launches
};

// What a summary needs to know beside the counters.
struct SummaryContext {
  unsigned vms = 1;
  NeighbourFigures neighbours;
  WaitFigures waits;
  std::vector<CostFigures> lessons;
  std::string policy;                                             // as the user would write it
  std::array<const char*, kUnsplitReasonCount> reasons{};         // names of the reasons for staying whole
  std::array<const char*, kSingleQueueReasons> queued_reasons{};  // and of those for going through one queue
};

// A table of a few lines, each beginning with "cleave: ". Empty without launches.
std::string as_text(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context);

// One JSON object and a newline.
std::string as_json(const std::vector<Counters::Named>& kernels, const SummaryContext& summary_context);

}  // namespace cleave::observe
