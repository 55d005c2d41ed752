#include "interpose/queues/gate.h"

#include <unistd.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>

namespace cleave::interpose {
namespace {

bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

// Every thread of the process that is running passes a full barrier before this returns; one that is not has passed one.
bool pass_barrier() noexcept { return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

bool has_barrier() noexcept {
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && pass_barrier();
}

}  // namespace

// enter() announces itself and then checks; close() closes and then checks. Both are sequentially consistent, so at
// least one of two concurrent threads sees the other. For the thread that announces itself by stores, close() first withdraws the
// permission and then makes it pass a barrier: a store that comes before the barrier is visible after it, and after one that
// comes later that thread finds the permission gone.

// It has announced itself and found the gate closed.
Gate::Entry Gate::enter_closed(Entry entry) noexcept {
  while (!ours()) {
    leave(entry);
    wait_until_open();
    entry = announce();
    if (closed_.load(std::memory_order_seq_cst) == 0) break;
  }
  return entry;
}

bool Gate::close(pthread_t caller) noexcept {
  int open = 0;
  while (!closed_.compare_exchange_strong(open, 1, std::memory_order_seq_cst)) {
    if (ours()) return false;
    wait_until_open();
    open = 0;
  }
  caller_.store(caller, std::memory_order_relaxed);
  owner_.store(base::this_thread(), std::memory_order_relaxed);
  if (is_empty()) return true;
  this->open();
  return false;
}

// Requires: it is closed by this thread.
bool Gate::is_empty() noexcept {
  if (stores_.load(std::memory_order_acquire) != Stores::none && !first_.is()) {
    stores_.store(Stores::ending, std::memory_order_relaxed);
    // Should it be refused, from now on, the first thread is not known to be outside.
    if (!pass_barrier()) return false;
    stores_.store(Stores::none, std::memory_order_release);
  }
  return first_inside_.load(std::memory_order_acquire) == 0 && inside_.load(std::memory_order_seq_cst) == 0;
}

void Gate::open() noexcept {
  // Before the next thread can close it.
  owner_.store(pthread_t{}, std::memory_order_relaxed);
  caller_.store(pthread_t{}, std::memory_order_relaxed);
  closed_.store(0, std::memory_order_seq_cst);
  closed_.notify_all();
}

void Gate::wait_until_open() noexcept {
  const bool is_callers = pthread_equal(caller_.load(std::memory_order_relaxed), base::this_thread()) != 0;
  const int counted = is_callers ? 0 : 1;
  waiting_.fetch_add(counted, std::memory_order_relaxed);
  closed_.wait(1, std::memory_order_seq_cst);
  waiting_.fetch_sub(counted, std::memory_order_relaxed);
}

void Gate::reset(bool has_barrier) noexcept {
  inside_.store(0);
  // The first thread stays inside if it is the one that forks, from a callback of the driver's.
  if (!first_.is_known(base::this_thread())) {
    first_.reset();
    first_inside_.store(0);
  }
  stores_.store(has_barrier ? Stores::allowed : Stores::none);
  closed_.store(0);
  waiting_.store(0);
  owner_.store(pthread_t{});
  caller_.store(pthread_t{});
}

void Gates::reset() noexcept {
  const bool barrier = may_close_ && has_barrier();
  for (Gate& gate : gates_) gate.reset(barrier);
}

}  // namespace cleave::interpose
