#include "cli/trace/trace.h"

#include <cstdio>

#include "base/text/display_text.h"
#include "observe/trace_merge.h"

namespace cleave::cli {

int trace_merge(const TraceRequest& request) {
  const observe::MergedTrace merged = observe::merge_traces(request.out, request.files);
  if (!merged.problem.empty()) {
    std::fprintf(stderr, "cleave: %s\n", base::displayable(merged.problem).c_str());
    return 1;
  }
  for (const std::string& note : merged.notes)
    std::fprintf(stderr, "cleave: %s\n", base::displayable(note).c_str());
  std::printf("%s: %zu processes, %llu events, %llu arrows\n", request.out.c_str(), merged.processes,
              static_cast<unsigned long long>(merged.events), static_cast<unsigned long long>(merged.arrows));
  for (const std::string& clock : merged.clocks) std::printf("%s\n", base::displayable(clock).c_str());
  return 0;
}

}  // namespace cleave::cli
