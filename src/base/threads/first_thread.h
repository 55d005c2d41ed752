// is() is true for one living thread only: the first that called it. Data that it alone writes needs no atomic
// read-modify-write, which costs some twenty cycles and waits for all stores before it.
//
// Thread-safe. A thread that begins after the first one has ended may get its name, and then is the first.
#pragma once

#include <atomic>
#include <pthread.h>
#include <type_traits>

#include "base/threads/this_thread.h"

namespace cleave::base {

class FirstThread {
 public:
  [[nodiscard]] bool is(pthread_t self = this_thread()) noexcept {
    const pthread_t first = thread_.load(std::memory_order_relaxed);
    return first == self || (first == pthread_t{} && take(self));
  }
  // The same, without becoming it.
  [[nodiscard]] bool is_known(pthread_t self) const noexcept {
    return thread_.load(std::memory_order_relaxed) == self;
  }
  // For the child of a fork. No other thread may use this meanwhile.
  void reset() noexcept { thread_.store(pthread_t{}, std::memory_order_relaxed); }

 private:
  [[gnu::cold, gnu::noinline]] bool take(pthread_t self) noexcept {
    pthread_t nobody{};
    return thread_.compare_exchange_strong(nobody, self, std::memory_order_relaxed) || nobody == self;
  }

  std::atomic<pthread_t> thread_{};
};

// Adds to an atomic number that this thread alone writes. A signal handler of the thread that does so in between is not counted,
// unless it removes what it has added.
template <typename Atomic>
void add_unshared(Atomic&& number, typename std::remove_cvref_t<Atomic>::value_type more) noexcept {
  number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace cleave::base
