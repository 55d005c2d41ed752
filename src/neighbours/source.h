// Somebody who knows how many share the host. A source is stepped by one thread, which sleeps between steps
// until its descriptor is ready or its time has come; a step never waits for anybody, but for the lookup of a
// host's name.
//
// Not thread-safe, but for close_in_child().
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "neighbours/monitor_protocol.h"

namespace cleave::neighbours {

class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  // As the user writes it: "monitor", "peers", "file:PATH".
  [[nodiscard]] virtual std::string name() const = 0;

  // For people: what it is in touch with at the moment ("unix:/run/cleave/monitor.sock"), or an empty text.
  [[nodiscard]] virtual std::string endpoint() const = 0;

  // For people, a word: "connected", "connecting", "unreachable", "blind", "read", ...
  [[nodiscard]] virtual std::string state() const = 0;

  // What it last said. Kept when it falls silent.
  [[nodiscard]] virtual std::optional<TimedCount> last_count() const = 0;

  // What to wait for between steps: the descriptor (-1: none) and poll()'s events; and when to step at the
  // latest.
  struct WakeCondition {
    int fd = -1;
    short events = 0;
    base::Nanoseconds until{0};
  };
  [[nodiscard]] virtual WakeCondition wake_condition() const = 0;

  virtual void step(base::Nanoseconds now) = 0;

  // Whether the first answer, or that there is none, is known. Until then the first launch may wait a moment.
  [[nodiscard]] virtual bool first_answer_known() const = 0;

  // What the user should know: something is wrong that will not mend itself. Each complaint is given once.
  [[nodiscard]] virtual std::string take_warning() { return {}; }

  // In a forked child, where the stepping thread is not: closes what the child has inherited.
  virtual void close_in_child() {}
};

}  // namespace cleave::neighbours
