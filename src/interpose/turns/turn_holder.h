// Whether this process holds a device, since when it has nothing on it, and the lock under which both change.
//
// Thread-safe: what is not atomic needs `mutex`, which the owner takes; it guards what the owner knows of the turn, too. Functions
// that wait release it meanwhile. Does not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "interpose/turns/turn_log.h"
#include "turns/grace.h"
#include "turns/turns.h"

namespace cleave::interpose {

class TurnHolder {
 public:
  base::Mutex mutex;

  // All must outlive this. `trace` may be null; `device` is its name and `identity` one that no other device has.
  TurnHolder(base::Clock& clock, turns::Turns& turns, Tracer* trace, std::string device, std::string identity)
      : clock_(clock), turns_(turns), log_(trace, std::move(device), std::move(identity)) {}
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

  [[nodiscard]] bool holds() const noexcept { return holds_.load(std::memory_order_relaxed); }
  // Changes whenever the device has been passed on.
  [[nodiscard]] std::uint64_t turn() const noexcept { return number_.load(std::memory_order_relaxed); }
  [[nodiscard]] TurnLog& log() noexcept { return log_; }
  [[nodiscard]] turns::Ns now() const { return clock_.now().count(); }

  // A thread waits for a turn, or passes it on: meanwhile the others wait, and nothing else changes the holder.
  [[nodiscard]] bool is_changing() const CLEAVE_REQUIRES(mutex) { return changing_; }
  void wait_for_change(base::MutexLock& lock) CLEAVE_REQUIRES(mutex) { changed_.wait(lock); }
  void wait_for_change(base::MutexLock& lock, turns::Ns most) CLEAVE_REQUIRES(mutex) {
    changed_.wait_for(lock, base::Nanoseconds(most));
  }
  void begin_change() CLEAVE_REQUIRES(mutex) { changing_ = true; }
  void end_change() CLEAVE_REQUIRES(mutex) {
    changing_ = false;
    changed_.notify_all();
  }
  // Calls change(), which waits for the device and returns whether the process has it, without the lock.
  template <typename Change>
  bool change(Change change) CLEAVE_REQUIRES(mutex);

  // Whether others should have the device, as far as it is time to look.
  [[nodiscard]] bool is_wanted_back() CLEAVE_REQUIRES(mutex);
  void give_back() CLEAVE_REQUIRES(mutex);

  // A launch begins: how long there was nothing to do teaches for how long the device is worth keeping.
  void note_launch() CLEAVE_REQUIRES(mutex);
  // Nothing is on the device. It is given back unless it is worth keeping.
  void note_idle() CLEAVE_REQUIRES(mutex);
  [[nodiscard]] bool is_idle() const CLEAVE_REQUIRES(mutex) { return idle_since_ != 0; }
  // How much longer an idle device is kept as of `at`; 0: it has been given back.
  turns::Ns keep_idle(turns::Ns at) CLEAVE_REQUIRES(mutex);
  // Something is enqueued, or the turn ends: no cap has to pay for the time without.
  void note_use() CLEAVE_REQUIRES(mutex);

  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex);

 private:
  base::Clock& clock_;
  turns::Turns& turns_;
  TurnLog log_;
  std::atomic<bool> holds_{false};        // changed with the lock
  std::atomic<std::uint64_t> number_{0};  // of turns
  base::CondVar changed_;
  bool changing_ CLEAVE_GUARDED_BY(mutex) = false;
  turns::Ns asked_at_ CLEAVE_GUARDED_BY(mutex) = 0;      // whether others should have the device
  turns::Ns idle_since_ CLEAVE_GUARDED_BY(mutex) = 0;    // 0: not idle
  turns::Ns unused_since_ CLEAVE_GUARDED_BY(mutex) = 0;  // held with nothing on it; 0: there is something
  turns::Grace grace_ CLEAVE_GUARDED_BY(mutex);
};

template <typename Change>
bool TurnHolder::change(Change change) {
  changing_ = true;
  mutex.unlock();
  const base::Nanoseconds asked = clock_.now();
  const std::uint64_t waits = turns_.waits();
  const bool holds = change();
  log_.answered({.asked = asked,
                 .now = clock_.now(),
                 .waited = turns_.waits() != waits,
                 .holds = holds,
                 .joined = holds || turns_.has_joined()});
  mutex.lock();
  holds_ = holds;
  // What may be left of the turn before has all but ended.
  unused_since_ = holds ? now() - turns_.grant_delay() : 0;
  ++number_;
  end_change();
  return holds;
}

}  // namespace cleave::interpose
