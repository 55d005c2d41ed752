// The thread that watches a device's turn while no thread of the program does: it notices ends and passes the device
// on.
//
// Externally synchronised by the lock with which wait() is called, but stop() and is_stopped(), which need none.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "base/threads/mutex.h"
#include "base/threads/scoped_thread_state.h"
#include "turns/state.h"

namespace cleave::interpose {

class TurnKeeper {
 public:
  // Starts the thread unless there is one. Without a thread only the program's waits and launches end its turns, or leases do.
  template <typename Keep>
  void start(Keep keep) noexcept {
    if (thread_) return;
    const base::ScopedSignalBlock blocked;
    try {
      thread_ = std::make_unique<std::thread>(std::move(keep));
    } catch (...) {
    }
  }

  // From now on it is to end, and to call the driver no more.
  void stop() noexcept { stopped_ = true; }
  [[nodiscard]] bool is_stopped() const noexcept { return stopped_; }
  // Requires: stop() has been called. The result is to be joined, without the lock; it may be null.
  [[nodiscard]] std::unique_ptr<std::thread> take_thread() {
    wakes_.notify_all();
    return std::move(thread_);
  }

  void wake() { wakes_.notify_one(); }
  // The same if it would not look for longer than `most` as of `at`.
  void wake_within(turns::Ns at, turns::Ns most) {
    if (looks_at_ > at + most) wake();
  }

  // For the thread: waits until `pause` is over or it is woken; without `pause`, until it is woken.
  void wait(base::MutexLock& lock, turns::Ns at, turns::Ns pause) {
    looks_at_ = at + pause;
    if (pause == 0) return wakes_.wait(lock);
    wakes_.wait_for(lock, base::Nanoseconds(pause));
  }

  // The parent's thread does not run here.
  void reset_in_child() noexcept {
    static_cast<void>(thread_.release());
    new (&wakes_) base::CondVar;
  }

 private:
  std::atomic<bool> stopped_{false};
  std::unique_ptr<std::thread> thread_;
  base::CondVar wakes_;
  turns::Ns looks_at_ = 0;
};

}  // namespace cleave::interpose
