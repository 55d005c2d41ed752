// The sum over all hypervisors that is sent to clients. It is known only while every hypervisor's count is known: a sum without
// one of them would be too small, and clients could not see that.
//
// Not thread-safe. The time is passed as an argument.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "monitor/hypervisor/watcher.h"

namespace cleave::monitor {

struct Total {
  std::uint64_t sequence = 1;  // incremented with every change of the other members
  bool known = false;
  Counts counts;  // zeros while not known
  // In thousandths, of the hypervisor with the most; empty while that of one is unknown.
  std::optional<unsigned> pressure = {};
};

class Totals {
 public:
  // A count expires if no listing has confirmed it for `patience`: its watcher is stuck in a call. So does a
  // pressure, by itself, if the next sample is late.
  Totals(std::size_t hypervisors, std::chrono::milliseconds patience)
      : reports_(hypervisors), patience_(patience) {}

  // The pressure of the total changes only by kPressureStep thousandths or more, and by more than the part 1 /
  // kPressurePart of it, or to 0, so that not every sample is sent to all clients, and least of all noise.
  static constexpr unsigned kPressurePart = 20;
  static constexpr unsigned kPressureStep = 5;

  // Stores the newest report of one hypervisor. True if the total has changed.
  bool report(std::size_t hypervisor, const Report& report, TimePoint now);

  // Drops counts and pressures that have expired. True if the total has changed.
  bool expire(TimePoint now);

  [[nodiscard]] const Total& total() const { return total_; }
  [[nodiscard]] const std::vector<Report>& reports() const { return reports_; }
  // Hypervisors that are connected, and not stuck.
  [[nodiscard]] std::size_t connected() const;

 private:
  bool recompute();
  [[nodiscard]] std::optional<unsigned> pressure() const;

  std::vector<Report> reports_;
  std::chrono::milliseconds patience_;
  Total total_;
};

}  // namespace cleave::monitor
