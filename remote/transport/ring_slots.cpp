#include "remote/transport/ring_slots.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>

namespace cleave::remote {
namespace {

constexpr std::uint32_t kFree = 0;
constexpr std::uint32_t kInUse = 1;
constexpr std::uint32_t kInUseWithWaiter = 2;

}  // namespace

void give_slot(std::uint32_t& word) { std::atomic_ref(word).store(kInUse, std::memory_order_relaxed); }

void return_slot(std::uint32_t& word) {
  if (std::atomic_ref(word).exchange(kFree, std::memory_order_release) == kInUseWithWaiter)
    ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

bool is_returned(std::uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire) == kFree;
}

bool wait_for_slot(std::uint32_t& word, Time until) {
  while (!is_returned(word)) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= Duration::zero()) return false;
    std::uint32_t given = kInUse;
    std::atomic_ref(word).compare_exchange_strong(given, kInUseWithWaiter, std::memory_order_relaxed);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, kInUseWithWaiter, &time, nullptr, 0);
  }
  return true;
}

}  // namespace cleave::remote
