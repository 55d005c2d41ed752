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

class BriefSpin {
 public:
  // The longest look.
  explicit BriefSpin(Duration most) : most_(most) {}

  // Asks is_ready() until it says yes, interrupted() does, or time is out. Returns whether it is there.
  template <typename IsThere, typename Interrupted>
  bool until(IsThere is_ready, Interrupted interrupted) {
    if (!is_worthwhile()) return false;
    const Time end = std::chrono::steady_clock::now() + most_;
    do {
      if (is_ready()) return note_hit(), true;
      if (interrupted()) return false;
      std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    note_miss();
    return false;
  }

  template <typename IsThere>
  bool until(IsThere is_ready) {
    return until(is_ready, [] { return false; });
  }

 private:
  static constexpr unsigned kMaxMisses = 4;    // in a row, after which
  static constexpr unsigned kMaxSkipped = 32;  // so many times are left out before the next try

  bool is_worthwhile();
  void note_hit() { misses_ = 0; }
  void note_miss() { ++misses_; }

  const Duration most_;
  unsigned misses_ = 0;
  unsigned skipped_ = 0;
};

}  // namespace cleave::remote
