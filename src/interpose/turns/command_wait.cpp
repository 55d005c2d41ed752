#include "interpose/turns/command_wait.h"

#include <algorithm>
#include <utility>

#include "base/threads/scoped_thread_state.h"

namespace cleave::interpose {
namespace {

using turns::Ns;

// How much longer than expected a command may take before it no longer counts as ours, while the program waits for that.
constexpr Ns kPatience = 100'000'000;
constexpr Ns kLongestAllowance = 1'000'000'000;

Ns allowance(Ns expected, int times) {
  return std::clamp<Ns>(expected, 0, kLongestAllowance / times) * times;
}

}  // namespace

bool has_ended(const Table& next, cl_event event) noexcept {
  cl_int status = CL_COMPLETE;
  return next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
             CL_SUCCESS ||
         status <= CL_COMPLETE;
}

Awaited await_command(const Table& next, base::Clock& clock, cl_event event, Ns expected_end, Ns early,
                      const std::atomic<int>* abort) {
  using launch::WaitResult;
  const auto now = [&clock] { return Ns{clock.now().count()}; };
  const Ns start = now();
  const Ns until = start + kPatience + allowance(expected_end - start, kTimesExpected);
  const base::ScopedPreciseSleep undisturbed;
  Ns running_at = 0;
  for (Ns at = start;; running_at = std::exchange(at, now())) {
    if (has_ended(next, event)) return {WaitResult::complete, running_at};
    if (abort != nullptr && abort->load(std::memory_order_relaxed) != 0) return {WaitResult::aborted};
    if (at > until) return {WaitResult::stalled};
    const Ns late = at - std::max(start, std::min(expected_end, at));
    const Ns usual = std::clamp(late / kShareOfWait, kShortestSleep, kMillisecond);
    clock.sleep_for(base::Nanoseconds(std::max(usual, std::min(expected_end - early - at, kMillisecond))));
  }
}

}  // namespace cleave::interpose
