#include "interpose/launch/slice_pacer.h"

#include "interpose/polling/slice_wait.h"
#include "interpose/waits/wait.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// How long a slice may take to begin before pacing is given up. Long enough for work that others have queued, short
// enough where the slice depends on the program, which is blocked in this call.
constexpr base::Nanoseconds kPacingTimeout = 2s;

}  // namespace

void SlicePacer::flush_upstream(std::span<const cl_event> wait_list) noexcept {
  for (const cl_event event : wait_list) {
    cl_command_queue queue = nullptr;
    next_.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue), static_cast<void*>(&queue),
                         nullptr);
    if (queue != nullptr) flush_if_known(next_, queues_, queue);
  }
}

launch::WaitResult SlicePacer::wait(cl_event command, std::size_t /*slices*/) noexcept {
  return wait_for(next_, clock_, command, kPacingTimeout, abort_pacing_);
}

}  // namespace cleave::interpose
