// Looking for something for a short while before sleeping until it comes. A thread that sleeps is woken late,
// by tens of microseconds where idle processors sleep deeply, which is most of what a small round trip takes.
//
// It is no more than a look: bounded, given up where it has been in vain lately (then it is tried now and
// then), never done on a machine of one processor, and in it every other thread goes first.
//
// Not thread-safe: one thread at a time.
#pragma once

#include <thread>

#include "remote/transport/stream.h"

namespace cleave::remote {

class Linger {
 public:
  // The longest look.
  explicit Linger(Duration most) : most_(most) {}

  // Asks is_there() until it says yes, interrupted() does, or time is out. Returns whether it is there.
  template <typename IsThere, typename Interrupted>
  bool until(IsThere is_there, Interrupted interrupted) {
    if (!is_worth_it()) return false;
    const Time end = std::chrono::steady_clock::now() + most_;
    do {
      if (is_there()) return found(), true;
      if (interrupted()) return false;
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    missed();
    return false;
  }

  template <typename IsThere>
  bool until(IsThere is_there) {
    return until(is_there, [] { return false; });
  }

 private:
  static constexpr unsigned kMisses = 4;        // in a row, after which
  static constexpr unsigned kMostSkipped = 32;  // so many times are left out before the next try

  bool is_worth_it();
  void found() { misses_ = 0; }
  void missed() { ++misses_; }

  const Duration most_;
  unsigned misses_ = 0;
  unsigned skipped_ = 0;
};

}  // namespace cleave::remote
