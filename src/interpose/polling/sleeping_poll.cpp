#include "interpose/polling/sleeping_poll.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

constexpr base::Nanoseconds kFirstDelay = 5ms;

}  // namespace

WatchResult watch_events(const Table& next, base::Clock& clock, std::span<const cl_event> events,
                         const WatchOptions& how) {
  WatchResult watched;
  base::Nanoseconds next_delay = kFirstDelay;
  bool delayed = false;
  for (const cl_event event : events) {
    for (bool slept = false;; slept = true) {
      cl_int status = CL_QUEUED;
      if (next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
              CL_SUCCESS ||
          status < 0) {
        return watched;
      }
      if (status == CL_COMPLETE) {
        watched.ends_unwaited = watched.ends_unwaited || (slept && !delayed);
        break;
      }
      const base::Nanoseconds waited = clock.now() - how.start;
      if (how.stall_timeout != 0ns && waited > how.stall_timeout) return watched;
      if (how.stop != nullptr && how.stop->load(std::memory_order_relaxed)) return watched;
      delayed = how.on_delay && waited > next_delay;
      if (delayed) {
        how.on_delay();
        next_delay = 2 * waited;
      }
      const base::Nanoseconds pause = how.schedule.next(waited);
      clock.sleep_for(pause);
      watched.slept += pause;
    }
  }
  watched.complete = true;
  return watched;
}

}  // namespace cleave::interpose
