#include "monitor/log.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace cleave::monitor {

void log_line(std::string_view line) noexcept {
  try {
    std::string whole = "cleave-monitord: ";
    whole.append(line).push_back('\n');
    base::write_stderr(whole);
  } catch (...) {
    base::write_stderr("cleave-monitord: out of memory\n");
  }
}

std::optional<std::uint64_t> RateLimiter::record(TimePoint now) {
  ++count_;
  if (last_ && now - *last_ < period_) return std::nullopt;
  last_ = now;
  return std::exchange(count_, 0);
}

}  // namespace cleave::monitor
