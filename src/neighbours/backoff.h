// How long to wait before the next attempt to reach somebody: longer each time, and never the same for all,
// so that many guests do not come back to a daemon at one moment.
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

  // Different seeds wait differently.
  explicit Backoff(std::uint64_t seed) : state_(seed) {}

  // Between half of and the whole of a time that doubles from kInitialDelay up to kMaxDelay.
  base::Nanoseconds next() {
    const auto half = static_cast<std::uint64_t>(limit_.count()) / 2;
    limit_ = std::min(limit_ * 2, kMaxDelay);
    return base::Nanoseconds(half + random() % (half + 1));
  }

  // The last attempt went well.
  void reset() { limit_ = kInitialDelay; }

 private:
  // SplitMix64: plenty for spreading.
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
