// A mutex for sections of some nanoseconds which every launch passes. Without contention it costs one atomic operation
// to take and one to release, inlined, within the cache line of what it guards. std::mutex costs two calls into another
// library, whose code and tables are not in the processor's caches when a driver has just run: then they take longer
// than the section.
//
// Waiting threads sleep, as with std::mutex; there is no condition variable for it. Under ThreadSanitizer it is base::Mutex, whose
// order it checks (docs/locks.md).
//
// Source: U. Drepper, "Futexes Are Tricky", section 6.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/threads/mutex.h"
#include "base/threads/thread_annotations.h"

#if defined(__SANITIZE_THREAD__)
#define CLEAVE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CLEAVE_THREAD_SANITIZER 1
#endif
#endif

namespace cleave::base {

#ifdef CLEAVE_THREAD_SANITIZER

using LightMutex = Mutex;

#else

class CLEAVE_CAPABILITY("mutex") LightMutex {
 public:
  LightMutex() = default;
  LightMutex(const LightMutex&) = delete;
  LightMutex& operator=(const LightMutex&) = delete;

  void lock() noexcept CLEAVE_ACQUIRE() {
    State state = kFree;
    const bool taken =
        state_.compare_exchange_strong(state, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
    if (!taken) [[unlikely]]
      wait();
  }
  void unlock() noexcept CLEAVE_RELEASE_LOCK() {
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) [[unlikely]]
      wake();
  }

 private:
  using State = std::uint32_t;
  static constexpr State kFree = 0;
  static constexpr State kTaken = 1;
  static constexpr State kAwaited = 2;  // taken, and others may wait

  // Takes it in a state in which unlock() wakes one of those that may still wait.
  [[gnu::cold, gnu::noinline]] void wait() noexcept {
    while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      state_.wait(kAwaited, std::memory_order_relaxed);
  }
  [[gnu::cold, gnu::noinline]] void wake() noexcept { state_.notify_one(); }

  std::atomic<State> state_{kFree};
};

#endif

using LightLock = BasicLock<LightMutex>;

}  // namespace cleave::base
