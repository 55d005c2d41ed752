#include "launch/wait.h"

#include "base/undisturbed.h"
#include "launch/schedule.h"

namespace cleave::launch {

Waited wait_for(const Table& next, base::Clock& clock, cl_event event, base::Nanoseconds patience,
                const std::atomic<int>* haste) {
  const base::Nanoseconds start = clock.now();
  const Schedule schedule;
  const base::Undisturbed undisturbed;
  for (;;) {
    cl_int status = CL_QUEUED;
    if (next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
        CL_SUCCESS) {
      return Waited::gave_up;
    }
    if (status == CL_COMPLETE) return Waited::complete;
    if (status < 0) return Waited::failed;
    const base::Nanoseconds waited = clock.now() - start;
    if (status != CL_RUNNING && waited > patience) return Waited::stalled;
    if (haste != nullptr && haste->load(std::memory_order_relaxed) != 0) return Waited::gave_up;
    clock.sleep_for(schedule.next(waited));
  }
}

}  // namespace cleave::launch
