// Exponential backoff with jitter, so that many guests do not reconnect to a daemon at the same moment.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace cleave::neighbours {

class Backoff {
 public:
  static constexpr base::Nanoseconds kInitialDelay = std::chrono::milliseconds(250);
  static constexpr base::Nanoseconds kMaxDelay = std::chrono::seconds(30);

  explicit Backoff(std::uint64_t seed) : state_(seed) {}

  // A random delay between half of and the whole limit, which doubles from kInitialDelay up to kMaxDelay.
  base::Nanoseconds next() {
    const auto half = static_cast<std::uint64_t>(limit_.count()) / 2;
    limit_ = std::min(limit_ * 2, kMaxDelay);
    return base::Nanoseconds(half + random() % (half + 1));
  }

  // After a success.
  void reset() { limit_ = kInitialDelay; }

 private:
  // SplitMix64.
  std::uint64_t random() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }

  std::uint64_t state_;
  base::Nanoseconds limit_ = kInitialDelay;
};

}  // namespace cleave::neighbours
