// Which refusals are worth a line of the log: unauthenticated peers must not fill it.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/rate_limit.h"

namespace cleave::remote::server {

class RefusalLog {
 public:
  static constexpr int kLinesPerSecond = 20;

  // What is to be logged of this refusal: `line`, perhaps with the number of those before it that were not; or nothing.
  std::optional<std::string> admit(std::string line, base::RateLimit::Clock::time_point now) {
    if (rate_.next() > now) {
      ++left_out_;
      return std::nullopt;
    }
    rate_.count(now);
    if (left_out_ != 0) line += " (and " + std::to_string(left_out_) + " others before)";
    left_out_ = 0;
    return line;
  }

 private:
  base::RateLimit rate_{std::chrono::milliseconds(1000 / kLinesPerSecond), kLinesPerSecond};
  std::uint64_t left_out_ = 0;
};

}  // namespace cleave::remote::server
