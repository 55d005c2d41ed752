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
  base::Settings settings = default_settings();
  settings.launch = base::LaunchMode::pipelined;
  return settings;
}

inline sim::Options concurrent_driver() {
  sim::Options options = default_driver();
  options.concurrent_commands = 8;
  return options;
}

// The same, but it starts nothing before it is flushed. One thread alone calls it, so that a wait which
// nothing can end shows at once.
inline sim::Options lazy_flush_driver() {
  sim::Options options = concurrent_driver();
  options.lazy_flush = true;
  options.hang_timeout = std::chrono::milliseconds(100);
  return options;
}

inline void make_slices_uneven(InterposerFixture& fixture) {
  for (const char* name : {"add", "sum", "seer", "talker"}) {
    fixture.driver.cost(name, [](const sim::Launch& slice) {
      const std::size_t mixed = (slice.offset[0] + slice.offset[1] + 16) * 2654435761U;
      return base::Nanoseconds(1000 + mixed % 97'000);
    });
  }
}

inline std::uint64_t queued_count(plan::SingleQueueReason why) {
  return InterposerFixture::statistics().queued[static_cast<std::size_t>(why)];
}

// An event that Cleave does not know of, as one of another API would be.
class DriverOnlyEvent {
 public:
  explicit DriverOnlyEvent(const InterposerFixture& fixture)
      : event_(sim::Driver::table().clCreateUserEvent(fixture.context, nullptr)) {}
  DriverOnlyEvent(const DriverOnlyEvent&) = delete;
  DriverOnlyEvent& operator=(const DriverOnlyEvent&) = delete;
  ~DriverOnlyEvent() { sim::Driver::table().clReleaseEvent(event_); }
  cl_event get() const { return event_; }
  void open(cl_int status = CL_COMPLETE) { sim::Driver::table().clSetUserEventStatus(event_, status); }

 private:
  cl_event event_;
};

inline std::set<std::uint64_t> queues_of(const std::vector<sim::Launch>& launches) {
  std::set<std::uint64_t> queues;
  for (const sim::Launch& launch : launches) queues.insert(launch.queue);
  return queues;
}

}  // namespace cleave
