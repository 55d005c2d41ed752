// A queue of functions that one thread of its own calls, in order. Callbacks of the program (events, builds, contexts,
// destructors) run here: this thread neither waits for servers nor reads from them, so a callback may call OpenCL, and
// delays nothing but the callbacks behind it.
//
// The thread starts with the first post(). It is detached, belongs to the queue, which is never destroyed once it runs,
// and ends with the process. After fork() the child begins without a thread and with an empty queue.
//
// The program's functions find the signals blocked that its own thread had blocked, as on the threads of a driver: they may raise
// signals, rely on a handler of faults, and start threads and processes, which inherit the mask. Between them asynchronous signals are
// blocked (base/threads/scoped_thread_state.h).
//
// Thread-safe. The mutex is a leaf: nothing else is locked while it is held.
#pragma once

#include <csignal>
#include <cstddef>
#include <deque>
#include <functional>

#include "base/threads/mutex.h"
#include "base/threads/scoped_thread_state.h"

namespace cleave::remote::client {

class CallbackQueue {
 public:
  // Calls `function` soon, or at once where no thread can be started.
  void post(std::function<void()> function) CLEAVE_EXCLUDES(mutex_);
  // The same, for calls that a server may cause as often as it likes: lost if pending calls of this kind already keep
  // so much; one line says so, once.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20U;
  void post_or_lose(std::function<void()> function, std::size_t bytes) CLEAVE_EXCLUDES(mutex_);

  // From now on functions run with the signals blocked that the calling thread has blocked.
  void use_signals_of_this_thread() CLEAVE_EXCLUDES(mutex_);

  // Around fork() (base/threads/fork_locks.h).
  void lock() CLEAVE_ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock() CLEAVE_RELEASE_LOCK(mutex_) { mutex_.unlock(); }
  void reset_in_child() CLEAVE_REQUIRES(mutex_);

 private:
  struct Waiting {
    std::function<void()> function;
    std::size_t bytes;  // of what may be lost
  };

  void add(Waiting one) CLEAVE_EXCLUDES(mutex_);
  [[noreturn]] void run();

  base::Mutex mutex_;
  base::CondVar changed_;
  std::deque<Waiting> pending_ CLEAVE_GUARDED_BY(mutex_);
  std::size_t waiting_bytes_ CLEAVE_GUARDED_BY(mutex_) = 0;
  sigset_t signals_ CLEAVE_GUARDED_BY(mutex_) = base::asynchronous_signals();
  bool running_ CLEAVE_GUARDED_BY(mutex_) = false;
  bool has_lost_ CLEAVE_GUARDED_BY(mutex_) = false;
};

}  // namespace cleave::remote::client
