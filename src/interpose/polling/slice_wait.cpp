#include "interpose/polling/slice_wait.h"

#include "base/threads/scoped_thread_state.h"
#include "interpose/polling/poll_schedule.h"

namespace cleave::interpose {

launch::WaitResult wait_for(const Table& next, base::Clock& clock, cl_event event,
                            base::Nanoseconds stall_timeout, const std::atomic<int>* abort_pacing) {
  using launch::WaitResult;
  const base::Nanoseconds start = clock.now();
  const PollSchedule schedule;
  const base::ScopedPreciseSleep undisturbed;
  for (;;) {
    cl_int status = CL_QUEUED;
    if (next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
        CL_SUCCESS) {
      return WaitResult::aborted;
    }
    if (status == CL_COMPLETE) return WaitResult::complete;
    if (status < 0) return WaitResult::failed;
    const base::Nanoseconds waited = clock.now() - start;
    if (status != CL_RUNNING && waited > stall_timeout) return WaitResult::stalled;
    if (abort_pacing != nullptr && abort_pacing->load(std::memory_order_relaxed) != 0)
      return WaitResult::aborted;
    clock.sleep_for(schedule.next(waited));
  }
}

}  // namespace cleave::interpose
