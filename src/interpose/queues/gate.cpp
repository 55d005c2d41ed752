#include "interpose/queues/gate.h"

namespace cleave::interpose {

// enter() announces itself and then checks; close() closes and then checks. Both are sequentially consistent, so at
// least one of two concurrent threads sees the other.

// It has announced itself and found the gate closed.
void Gate::enter_closed() noexcept {
  while (!ours()) {
    leave();
    wait_until_open();
    inside_.fetch_add(1, std::memory_order_seq_cst);
    if (closed_.load(std::memory_order_seq_cst) == 0) return;
  }
}

bool Gate::close(pthread_t caller) noexcept {
  int open = 0;
  while (!closed_.compare_exchange_strong(open, 1, std::memory_order_seq_cst)) {
    if (ours()) return false;
    wait_until_open();
    open = 0;
  }
  caller_.store(caller, std::memory_order_relaxed);
  owner_.store(pthread_self(), std::memory_order_relaxed);
  if (inside_.load(std::memory_order_seq_cst) == 0) return true;
  this->open();
  return false;
}

void Gate::open() noexcept {
  // Before the next thread can close it.
  owner_.store(pthread_t{}, std::memory_order_relaxed);
  caller_.store(pthread_t{}, std::memory_order_relaxed);
  closed_.store(0, std::memory_order_seq_cst);
  closed_.notify_all();
}

void Gate::wait_until_open() noexcept {
  const bool is_callers = pthread_equal(caller_.load(std::memory_order_relaxed), pthread_self()) != 0;
  const int counted = is_callers ? 0 : 1;
  waiting_.fetch_add(counted, std::memory_order_relaxed);
  closed_.wait(1, std::memory_order_seq_cst);
  waiting_.fetch_sub(counted, std::memory_order_relaxed);
}

void Gate::reset() noexcept {
  inside_.store(0);
  closed_.store(0);
  waiting_.store(0);
  owner_.store(pthread_t{});
  caller_.store(pthread_t{});
}

}  // namespace cleave::interpose
