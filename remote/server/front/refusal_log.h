// Which refusals are worth a line of the log: unauthenticated peers must not fill it.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cleave::remote::server {

class RefusalLog {
 public:
  static constexpr unsigned kLinesPerSecond = 20;

  // What is to be logged of this refusal: `line`, perhaps with the number of those before it that were not; or nothing.
  std::optional<std::string> admit(std::string line, std::chrono::steady_clock::time_point now) {
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      lines_ = 0;
    }
    if (lines_ >= kLinesPerSecond) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    if (left_out_ != 0) line += " (and " + std::to_string(left_out_) + " others before)";
    left_out_ = 0;
    return line;
  }

 private:
  std::chrono::steady_clock::time_point since_{};
  unsigned lines_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace cleave::remote::server
