// How fast a worker's messages are read: it may be anybody's code, and each costs the supervisor, and often the front, processor time.
// What comes faster waits in the socket, and its sender with it once that is full; nothing is lost.
//
// Not thread-safe. Nothing throws.
#pragma once

#include <algorithm>
#include <chrono>

namespace cleave::remote::server {

class MessageRate {
 public:
  using Clock = std::chrono::steady_clock;

  // More than a client's transfers from server to server need, each of which takes some, with connections to be made in between.
  static constexpr std::chrono::milliseconds kInterval{1};
  // So many may come at once after a rest.
  static constexpr int kBurst = 128;

  // When the next message may be read.
  [[nodiscard]] Clock::time_point next() const { return paid_until_ - (kBurst - 1) * kInterval; }
  // One is read.
  void count(Clock::time_point now) { paid_until_ = std::max(paid_until_, now) + kInterval; }

 private:
  Clock::time_point paid_until_{};
};

}  // namespace cleave::remote::server
