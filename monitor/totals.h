// The sum over all hypervisors, as it is told to clients. It is known only while every hypervisor's count is:
// a sum without one of them would be too small, and nobody could see that.
//
// Not thread-safe. Time comes in as an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "monitor/watcher.h"

namespace cleave::monitor {

struct Total {
  std::uint64_t sequence = 1;  // one more with every change of what follows
  bool known = false;
  Counts counts;  // zeros while not known
};

class Totals {
 public:
  // A count is given up where no listing has confirmed it for `patience`: its watcher is stuck in a call.
  Totals(std::size_t hypervisors, std::chrono::milliseconds patience)
      : reports_(hypervisors), patience_(patience) {}

  // Takes the newest report of one hypervisor. True if the total has changed.
  bool report(std::size_t hypervisor, const Report& report, TimePoint now);

  // Gives up what is too old. True if the total has changed.
  bool expire(TimePoint now);

  [[nodiscard]] const Total& total() const { return total_; }
  [[nodiscard]] const std::vector<Report>& reports() const { return reports_; }
  // Hypervisors that are connected, and not stuck.
  [[nodiscard]] std::size_t connected() const;

 private:
  bool recompute();

  std::vector<Report> reports_;
  std::chrono::milliseconds patience_;
  Total total_;
};

}  // namespace cleave::monitor
