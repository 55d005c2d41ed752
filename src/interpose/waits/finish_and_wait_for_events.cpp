// clFinish and clWaitForEvents. Cancellation of the thread during the wait takes effect when the call returns.

#include "interpose/waits/finish_and_wait_for_events.h"

#include <pthread.h>

#include "interpose/calls/overrides.h"
#include "interpose/state/callback_scope.h"
#include "interpose/waits/wait.h"

namespace cleave::interpose {
namespace {

// Not inlined, so that the callers need no cleanup.
[[gnu::noinline]] cl_int finish_sleeping(Interposer& p, cl_command_queue queue,
                                         WaitInfo* how = nullptr) noexcept {
  Wait wait(p.waits, queue, WaitKind::finish);
  if (wait.sleeping()) wait.watch_queue();
  const cl_int error = p.next.clFinish(queue);
  wait.end();
  if (how != nullptr) *how = wait.how();
  return error;
}

[[gnu::noinline]] cl_int wait_sleeping(Interposer& p, cl_command_queue queue, std::span<const cl_event> list,
                                       WaitInfo* how = nullptr) noexcept {
  Wait wait(p.waits, queue, WaitKind::events, list.size() == 1 ? list.front() : nullptr);
  if (wait.sleeping()) wait.watch_list(list);
  const cl_int error = p.next.clWaitForEvents(static_cast<cl_uint>(list.size()), list.data());
  wait.end();
  if (how != nullptr) *how = wait.how();
  return error;
}

// From here on without cleanup around the driver's wait, so that a thread may be cancelled there.
cl_int finish_untraced(Interposer& p, cl_command_queue queue, WaitInfo* how = nullptr) {
  return may_sleep(p.waits, queue) ? finish_sleeping(p, queue, how) : p.next.clFinish(queue);
}

cl_int wait_untraced(Interposer& p, cl_uint count, const cl_event* events, WaitInfo* how = nullptr) {
  if (events == nullptr || !may_sleep(p.waits)) return p.next.clWaitForEvents(count, events);
  cl_command_queue queue = queue_of(p.next, {events, count});
  return may_sleep(p.waits, queue) ? wait_sleeping(p, queue, {events, count}, how)
                                   : p.next.clWaitForEvents(count, events);
}

[[gnu::noinline]] cl_int finish_traced(Interposer& p, cl_command_queue queue) {
  const WaitTrace trace = p.trace->wait_begins("clFinish", queue);
  WaitInfo how;
  const cl_int error = finish_untraced(p, queue, &how);
  p.trace->wait_ends(trace, how, error, true);
  return error;
}

[[gnu::noinline]] cl_int wait_traced(Interposer& p, cl_uint count, const cl_event* events) {
  const WaitTrace trace = p.trace->wait_begins("clWaitForEvents", nullptr);
  WaitInfo how;
  const cl_int error = wait_untraced(p, count, events, &how);
  p.trace->wait_ends(trace, how, error, std::span(events, events != nullptr ? count : 0));
  return error;
}

cl_int finish_untimed(Interposer& p, cl_command_queue queue) {
  return p.trace ? finish_traced(p, queue) : finish_untraced(p, queue);
}

cl_int wait_untimed(Interposer& p, cl_uint count, const cl_event* events) {
  return p.trace ? wait_traced(p, count, events) : wait_untraced(p, count, events);
}

// The same with launch timing.
[[gnu::noinline]] cl_int finish_timed(Interposer& p, cl_command_queue queue) {
  const LaunchTimers::Wait wait = p.launch_timers.wait(queue, p.clock);
  const cl_int error = finish_untimed(p, queue);
  if (error == CL_SUCCESS) p.costs.record_wait(queue, wait);
  return error;
}

[[gnu::noinline]] cl_int wait_timed(Interposer& p, cl_event event) {
  cl_command_queue queue = queue_of(p.next, {&event, 1});
  const LaunchTimers::Wait wait = p.launch_timers.wait(queue, p.clock);
  const cl_int error = wait_untimed(p, 1, &event);
  if (error == CL_SUCCESS) p.costs.record_wait(queue, wait, event);
  return error;
}

}  // namespace

// Not if the program may depend on the call failing at once, and not if another thread could enqueue before
// the call's own command.
void finish_timed_launch(Interposer& p, cl_command_queue queue) noexcept {
  if (p.launch_timers.empty() || !p.launch_timers.is_timing(queue)) return;
  if (CallbackScope::inside() || !p.records.pending_user_events.empty() ||
      p.wait_statistics.of(queue).shared())
    return;
  const auto record = p.records.queues.find(queue);
  if (record && record->in_order) interpose::clFinish(queue);
}

cl_int CL_API_CALL clFinish(cl_command_queue queue) {
  Interposer& p = interposer();
  if (const cl_int error = p.feeder.settle(queue); error != CL_SUCCESS) [[unlikely]]
    return error;
  if (!p.trace && p.launch_timers.empty() && !p.turns.held() && !p.memory.waits_for_commands() &&
      !may_sleep(p.waits, queue)) {
    return p.next.clFinish(queue);
  }
  const cl_int error = p.launch_timers.empty() ? finish_untimed(p, queue) : finish_timed(p, queue);
  p.turns.settle(queue);
  p.memory.collect();
  pthread_testcancel();
  return error;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* events) {
  Interposer& p = interposer();
  const bool timed = count == 1 && events != nullptr && !p.launch_timers.empty();
  if (!p.trace && !timed && !p.turns.held() && !p.memory.waits_for_commands() &&
      (events == nullptr || !may_sleep(p.waits))) {
    return p.next.clWaitForEvents(count, events);
  }
  const cl_int error = timed ? wait_timed(p, *events) : wait_untimed(p, count, events);
  p.turns.settle(nullptr);
  p.memory.collect();
  pthread_testcancel();
  return error;
}

}  // namespace cleave::interpose
