// Polling for something for a short time before sleeping until it happens. A sleeping thread is woken late, by tens of
// microseconds where idle processors sleep deeply, which is most of the time of a small round trip.
//
// The polling is bounded; it is suspended where it has failed several times in a row, and then retried occasionally; it is
// never done on a machine with one processor; and it yields to other threads.
//
// Not thread-safe: one thread at a time.
#pragma once

#include <thread>

#include "remote/transport/stream.h"

namespace cleave::remote {

class BriefSpin {
 public:
  // `most`: the longest time to poll.
  explicit BriefSpin(Duration most) : most_(most) {}

  // Polls until is_ready() or interrupted() returns true, or the time is over. Returns whether it is ready.
  template <typename IsReady, typename Interrupted>
  bool until(IsReady is_ready, Interrupted interrupted) {
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

  template <typename IsReady>
  bool until(IsReady is_ready) {
    return until(is_ready, [] { return false; });
  }

 private:
  static constexpr unsigned kMaxMisses = 4;    // in a row, after which polling
  static constexpr unsigned kMaxSkipped = 32;  // is skipped that many times before the next try

  bool is_worthwhile();
  void note_hit() { misses_ = 0; }
  void note_miss() { ++misses_; }

  const Duration most_;
  unsigned misses_ = 0;
  unsigned skipped_ = 0;
};

}  // namespace cleave::remote
