// The log of cleave-monitord.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/log.h"

namespace cleave::monitor {

// Writes "cleave-monitord: LINE\n" to standard error. Thread-safe; never throws.
inline void log_line(std::string_view line) noexcept { daemon::log_line("cleave-monitord", line); }

// Lets one event through in each period and counts the others. Not thread-safe.
class RateLimiter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit RateLimiter(std::chrono::seconds period) : period_(period) {}

  // Counts an event. If a log line is due: how many events there were since the last one, with this; else empty.
  std::optional<std::uint64_t> record(TimePoint now);

 private:
  std::chrono::seconds period_;
  std::optional<TimePoint> last_;
  std::uint64_t count_ = 0;
};

}  // namespace cleave::monitor
