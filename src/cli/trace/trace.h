// `cleave trace merge`: one file of the traces of several processes (docs/trace.md).
//
// Not thread-safe.
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

struct TraceRequest {
  std::string out;
  std::vector<std::string> files;
};

// Returns the exit status.
int trace_merge(const TraceRequest& request);

}  // namespace cleave::cli
