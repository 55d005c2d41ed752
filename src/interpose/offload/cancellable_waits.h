// The calls in which a thread waits and may be cancelled, as natively it may be in the driver's. Nothing of ours can run when it is unwound
// (base/scoped_thread_state.h), so what it has begun ends with the thread; else it would be counted until the program ends.
//
// Thread-safe: each thread has its own count.
#pragma once

#include <cstdint>
#include <pthread.h>

namespace cleave::interpose {

class CancellableWaits {
 public:
  // `end` is called where a thread ends that is still in such calls, with their count (counted()).
  explicit CancellableWaits(void (*end)(void* value)) noexcept;
  CancellableWaits(const CancellableWaits&) = delete;
  CancellableWaits& operator=(const CancellableWaits&) = delete;
  ~CancellableWaits();

  // False: the thread cannot be remembered, so its call must not be cut short.
  [[nodiscard]] bool begin() noexcept;
  void end() noexcept;

  [[nodiscard]] static std::uintptr_t counted(void* value) noexcept {
    return reinterpret_cast<std::uintptr_t>(value);
  }

 private:
  [[nodiscard]] std::uintptr_t count() const noexcept;
  [[nodiscard]] bool set(std::uintptr_t count) noexcept;

  pthread_key_t key_{};
  const bool has_key_;
};

}  // namespace cleave::interpose
