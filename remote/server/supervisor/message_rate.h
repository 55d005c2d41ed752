// How fast a worker's messages are read: it may be anybody's code, and each costs the supervisor, and often the front, processor time.
// What comes faster waits in the socket, and its sender with it once that is full; nothing is lost.
//
// Not thread-safe. Nothing throws.
#pragma once

#include "base/rate_limit.h"

namespace cleave::remote::server {

struct MessageRate : base::RateLimit {
  // More than a client's transfers from server to server need, each of which takes some, with connections to be made in between.
  static constexpr std::chrono::milliseconds kInterval{1};
  // So many may come at once after a rest.
  static constexpr int kBurst = 128;

  MessageRate() : RateLimit(kInterval, kBurst) {}
};

}  // namespace cleave::remote::server
