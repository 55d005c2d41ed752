// How many requests to the front one worker has under way. Those that have not reached it, and those of a front that has ended, are
// never answered, and do not count.
//
// Not thread-safe. Nothing throws.
#pragma once

#include <utility>

namespace cleave::remote::server {

// A worker's that have not been answered; more end the worker.
inline constexpr unsigned kMaxPeerRequests = 32;

class FrontRequests {
 public:
  // Before one is sent to the front of that number (FrontProcess::number()). False: it is one too many.
  bool begin(unsigned front) {
    if (std::exchange(front_, front) != front) count_ = 0;
    return ++count_ <= kMaxPeerRequests;
  }
  // The one that has just begun has not been sent.
  void lose() { end(front_); }
  // One has been answered by that front.
  void end(unsigned front) {
    if (front == front_ && count_ > 0) --count_;
  }

 private:
  unsigned count_ = 0;
  unsigned front_ = 0;
};

}  // namespace cleave::remote::server
