// The arrows of a merged trace: from a call to what it has caused on the server and on the device.
//
// Thread-safe: a plain function of its arguments. May throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/trace_clocks.h"
#include "observe/trace_index.h"

namespace cleave::observe {

// An event that is in none of the files, on the first file's clock.
struct AddedEvent {
  std::int64_t time = 0;
  std::int64_t duration = 0;
  std::uint8_t rank = 0;  // TraceIndex::Rank
  std::string text;       // JSON
};

// Adds the events of all arrows whose ends are in the files, and returns how many arrows there are. `pids`: the processes' ids
// in the merged trace, by file.
std::uint64_t add_arrows(const std::vector<TraceIndex>& files, const TraceClocks& clocks,
                         const std::vector<std::int64_t>& pids, std::vector<AddedEvent>& added);

}  // namespace cleave::observe
