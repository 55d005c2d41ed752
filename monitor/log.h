// What the daemon says on standard error: what happened to its hypervisors, and whom it turned away.
// Sparingly.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave::monitor {

// Writes "cleave-monitord: <line>\n". Thread-safe; never fails.
void log_line(std::string_view line) noexcept;

// Lets one line through in every so often and counts the others. Not thread-safe.
class RateLimiter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  explicit RateLimiter(std::chrono::seconds every) : period_(every) {}

  // How often it happened since the last line, this time included, if a line is due; else empty.
  std::optional<std::uint64_t> record(TimePoint now);

 private:
  std::chrono::seconds period_;
  std::optional<TimePoint> last_;
  std::uint64_t count_ = 0;
};

}  // namespace cleave::monitor
