// What the tests of pipelined launches have in common: a device that runs several commands at a time, and
// slices of so different lengths that those which came later often end first.
#pragma once

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/interposer/interposer_fixture.h"

namespace cleave {

inline base::Settings pipelined_settings() {
  return kit::with(default_settings(), &base::Settings::launch, base::LaunchMode::pipelined);
}

inline sim::Options concurrent_driver() {
  return kit::with(default_driver(), &sim::Options::concurrent_commands, 8);
}

// The same, but it starts nothing before it is flushed. One thread alone calls it, so that a wait which
// nothing can end shows at once.
inline sim::Options lazy_flush_driver() {
  return kit::with(concurrent_driver(), &sim::Options::lazy_flush, true, &sim::Options::hang_timeout,
                   std::chrono::milliseconds(100));
}

inline void make_slices_uneven(InterposerFixture& fixture) {
  for (const char* name : {"add", "sum", "reads_group_id", "uses_atomics"}) {
    fixture.driver.cost(name, [](const sim::Launch& slice) {
      const std::size_t mixed = (slice.offset[0] + slice.offset[1] + 16) * 2654435761U;
      return base::Nanoseconds(1000 + mixed % 97'000);
    });
  }
}

inline std::uint64_t queued_count(plan::SingleQueueReason why) {
  return InterposerFixture::statistics().queued[static_cast<std::size_t>(why)];
}

inline std::set<std::uint64_t> queues_of(const std::vector<sim::Launch>& launches) {
  std::set<std::uint64_t> queues;
  for (const sim::Launch& launch : launches) queues.insert(launch.queue);
  return queues;
}

}  // namespace cleave
