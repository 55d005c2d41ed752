// Whether its host's monitor counts this machine as busy, so that it is not counted as its own neighbour.
//
// The monitor does not say which machines are busy, only how many. So this machine applies the monitor's rule to itself: a busy
// machine used at least a share of one processor over an interval. The two measure at different moments, and the machine
// sees a little less of its own use than its host does. In doubt it counts as not busy: then one neighbour
// too many is assumed, which costs a few slices. The opposite mistake would leave a busy neighbour out.
//
// Not thread-safe. The time and the processor time are arguments, except in machine_processor_time().
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"

namespace cleave::neighbours {

class OwnUse {
 public:
  // The monitor's rule: a share of one processor, and the time between its samples (at least kMinInterval is used).
  OwnUse(double busy_share, base::Nanoseconds interval);

  // Once per interval: the processor time that the machine has used since some moment, all processors together.
  void sample(base::Nanoseconds used, base::Nanoseconds now);

  // When the next sample is due.
  [[nodiscard]] base::Nanoseconds next_sample() const { return next_; }

  // Whether the monitor counts this machine as busy beyond doubt: it used a quarter more than the share in each of the last two
  // intervals, so that whichever interval the monitor has measured last was busy too.
  [[nodiscard]] bool surely_busy() const { return busy_intervals_ >= kIntervals; }

 private:
  static constexpr base::Nanoseconds kMinInterval = std::chrono::milliseconds(100);
  static constexpr double kMargin = 1.25;
  static constexpr unsigned kIntervals = 2;

  double busy_share_;
  base::Nanoseconds interval_;
  base::Nanoseconds next_{0};
  std::optional<base::Nanoseconds> used_;  // at the last sample
  base::Nanoseconds sampled_{0};
  unsigned busy_intervals_ = 0;  // in a row, at most kIntervals
};

// How many virtual machines count if the busy ones do: this one, and the others that are busy. `own` says whether this one is
// among the busy ones. At least 1, and no more than run.
unsigned count_of_busy(unsigned running, unsigned busy, bool own);

// The time in which processors of this machine ran something, from the text of /proc/stat (proc(5)): not idle, not waiting for a
// device, not taken by the host. Empty if the text is not as expected.
std::optional<base::Nanoseconds> parse_processor_time(std::string_view proc_stat, long ticks_per_second);

// The same, of the machine that this process runs on; empty if it cannot be read.
std::optional<base::Nanoseconds> machine_processor_time();

}  // namespace cleave::neighbours
