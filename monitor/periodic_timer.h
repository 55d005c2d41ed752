// Calls a function periodically in the event loop's thread. Calls that the loop has missed are skipped.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "daemon/asio.h"

namespace cleave::monitor {

class PeriodicTimer {
 public:
  // The first call comes after one period.
  PeriodicTimer(asio::io_context& context, std::chrono::nanoseconds period, std::function<void()> call)
      : timer_(context, period), period_(period), call_(std::move(call)) {
    wait();
  }
  PeriodicTimer(const PeriodicTimer&) = delete;
  PeriodicTimer& operator=(const PeriodicTimer&) = delete;
  ~PeriodicTimer() = default;

 private:
  void wait() {
    timer_.async_wait([this](const daemon::ErrorCode& error) {
      if (error) return;
      call_();
      const auto now = std::chrono::steady_clock::now();
      auto next = timer_.expiry() + period_;
      if (next < now) next = now + period_;
      timer_.expires_at(next);
      wait();
    });
  }

  asio::steady_timer timer_;
  std::chrono::steady_clock::duration period_;
  std::function<void()> call_;
};

}  // namespace cleave::monitor
