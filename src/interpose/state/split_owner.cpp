#include "interpose/state/split_owner.h"

#include "base/log.h"
#include "cleave/cleave.h"

namespace cleave::interpose {

SplitOwner::State SplitOwner::determine() noexcept {
  const bool below = next_.clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME) != nullptr;
  const State found = below ? State::another : State::this_one;
  void* const aside = below ? nullptr : next_.clGetExtensionFunctionAddress(kStandAside);
  if (aside != nullptr) reinterpret_cast<void (*)() noexcept>(aside)();
  // Concurrent threads get the same answer, and one of them reports. If a face above came first, its decision counts.
  State known = State::unknown;
  if (!state_.compare_exchange_strong(known, found, std::memory_order_acq_rel)) return known;
  if (!below) report();
  return found;
}

void SplitOwner::report() const noexcept {
  for (const std::string& problem : configuration_.problems) base::log_line(problem);
  for (const std::string& notice : configuration_.notices) base::log_line(notice);
}

bool SplitOwner::is_this_at_exit() noexcept {
  State known = State::unknown;
  if (state_.compare_exchange_strong(known, State::this_one, std::memory_order_acq_rel)) {
    report();
    return true;
  }
  return known != State::another;
}

bool SplitOwner::begin() noexcept {
  State known = State::this_one;
  return state_.compare_exchange_strong(known, State::begun, std::memory_order_acq_rel) ||
         known == State::begun;
}

void SplitOwner::after_fork_in_child() noexcept {
  State begun = State::begun;
  state_.compare_exchange_strong(begun, State::this_one, std::memory_order_relaxed);
}

}  // namespace cleave::interpose
