// What a worker, its drivers and its client's kernels print to standard error, on its way into the server's log: lines, each behind
// the worker's name, of which so many are logged. What is more is dropped, and counted in a line.
//
// Not thread-safe. May throw std::bad_alloc.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/rate_limit.h"

namespace cleave::remote::server {

class WorkerText {
 public:
  using Clock = base::RateLimit::Clock;
  // Takes a line without its end, which may still hold anything (base/text/display_text.h).
  using Log = std::function<void(std::string_view)>;

  static constexpr std::size_t kLongestLine = 1024;  // bytes
  // Whole reports of drivers, and of Cleave at a client's end; and what can never fill a disk in a hurry.
  static constexpr int kBurst = 128;
  static constexpr std::chrono::milliseconds kInterval{100};  // between lines, after that

  void add(std::string_view bytes, Clock::time_point now, const Log& log);
  // It will print no more.
  void end(const Log& log);

 private:
  void end_line(Clock::time_point now, const Log& log);
  void log_dropped(const Log& log);

  std::string line_;           // that has not ended
  std::uint64_t dropped_ = 0;  // bytes that have not been counted in a line
  base::RateLimit rate_{kInterval, kBurst};
};

}  // namespace cleave::remote::server
