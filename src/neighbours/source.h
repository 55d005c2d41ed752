// A source of the number of VMs that share the host. One thread steps each source and sleeps between steps until the
// source's descriptor is ready or its time has come. A step does not block, except to resolve a host name.
//
// Not thread-safe, except for close_in_child().
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "neighbours/staleness.h"

namespace cleave::neighbours {

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // As the user writes it: "monitor", "peers", "file:PATH".
  [[nodiscard]] virtual std::string name() const = 0;

  // For display: where the count comes from at the moment ("unix:/run/cleave/monitor.sock"), or empty.
  [[nodiscard]] virtual std::string endpoint() const = 0;

  // For display: "connected", "connecting", "unreachable", "read", ...
  [[nodiscard]] virtual std::string state() const = 0;

  // The last count received; kept when no more follow.
  [[nodiscard]] virtual std::optional<TimedCount> last_count() const = 0;

  // The last pressure received, of sources that know it; kept when no more follows.
  [[nodiscard]] virtual std::optional<TimedPressure> last_pressure() const { return std::nullopt; }

  // When to step next: when poll() reports `events` for the descriptor (-1: none), and at `until` at the latest.
  struct WakeCondition {
    int fd = -1;
    short events = 0;
    base::Nanoseconds until{0};
  };
  [[nodiscard]] virtual WakeCondition wake_condition() const = 0;

  virtual void step(base::Nanoseconds now) = 0;

  // Whether the first attempt has ended, with a count or without. Until then the first launch may wait a moment.
  [[nodiscard]] virtual bool first_answer_known() const = 0;

  // A problem that needs the user's attention, or empty. Each is returned once.
  [[nodiscard]] virtual std::string take_warning() { return {}; }

  // In a forked child, which has no stepping thread: closes inherited descriptors.
  virtual void close_in_child() {}
};

}  // namespace cleave::neighbours
