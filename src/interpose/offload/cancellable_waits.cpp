#include "interpose/offload/cancellable_waits.h"

namespace cleave::interpose {

CancellableWaits::CancellableWaits(void (*end)(void* value)) noexcept
    : has_key_(pthread_key_create(&key_, end) == 0) {}

CancellableWaits::~CancellableWaits() {
  if (has_key_) pthread_key_delete(key_);
}

bool CancellableWaits::begin() noexcept { return has_key_ && set(count() + 1); }

void CancellableWaits::end() noexcept { static_cast<void>(set(count() - 1)); }

std::uintptr_t CancellableWaits::count() const noexcept { return counted(pthread_getspecific(key_)); }

bool CancellableWaits::set(std::uintptr_t count) noexcept {
  return pthread_setspecific(key_, reinterpret_cast<void*>(count)) == 0;  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace cleave::interpose
