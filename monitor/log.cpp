#include "monitor/log.h"

#include <utility>

namespace cleave::monitor {

std::optional<std::uint64_t> RateLimiter::record(TimePoint now) {
  ++count_;
  if (last_ && now - *last_ < period_) return std::nullopt;
  last_ = now;
  return std::exchange(count_, 0);
}

}  // namespace cleave::monitor
