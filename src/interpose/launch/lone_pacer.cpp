#include "interpose/launch/lone_pacer.h"

#include "interpose/polling/slice_wait.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// How long a slice may take to begin before pacing is given up. Long enough for work that others have queued, short
// enough where the slice depends on the program, which is blocked in this call.
constexpr base::Nanoseconds kPacingTimeout = 2s;

}  // namespace

// One that was to be split says nothing of what it takes.
void LonePacer::note_whole(const Call& call, cl_event event) {
  if (!plan_.is_split()) measure(call, 1, event);
}

bool LonePacer::begin(plan::LaunchMethod& method, std::size_t /*slices*/, const std::atomic<int>* abort) {
  abort_ = abort;
  is_sequential_ = method.mode == plan::Mode::sequential;
  return is_sequential_;
}

launch::WaitResult LonePacer::wait(cl_event command, std::size_t /*slices*/) noexcept {
  return wait_for(p_.next, p_.clock, command, kPacingTimeout, abort_);
}

void LonePacer::note_slices(const Call& call, const launch::LaunchResult& result, cl_event event) {
  if (is_sequential_ && (result.stalled || plan_.queue->pacing_stalls != 0)) {
    p_.records.queues.update(call.queue, [&](QueueRecord& record) {
      record.pacing_stalls = result.stalled ? record.pacing_stalls + 1 : 0;
    });
  }
  if (result.error == CL_SUCCESS) measure(call, result.slices, event);
}

void LonePacer::measure(const Call& call, std::size_t slices, cl_event event) {
  if (plan_.decision.key == 0) return;
  p_.costs.note_launch({.queue = call.queue,
                        .profiling = plan_.queue->profiling,
                        .waits = call.waits != 0,
                        .start = call.start,
                        .event = event},
                       {plan_.decision.key, slices});
}

}  // namespace cleave::interpose
