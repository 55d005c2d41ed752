// The functions that do nothing but wait.

#include "interpose/lessons.h"
#include "interpose/overrides.h"
#include "interpose/wait.h"

namespace cleave::interpose {
namespace {

// Not inlined, so that the callers have nothing to clean up.
[[gnu::noinline]] cl_int finish_with_care(Process& p, cl_command_queue queue) noexcept {
  Wait wait(p, queue, WaitKind::finish);
  if (wait.polite()) wait.watch_queue();
  const cl_int error = p.next.clFinish(queue);
  wait.end();
  return error;
}

[[gnu::noinline]] cl_int wait_with_care(Process& p, cl_command_queue queue,
                                        std::span<const cl_event> list) noexcept {
  Wait wait(p, queue, WaitKind::events);
  if (wait.polite()) wait.watch_list(list);
  const cl_int error = p.next.clWaitForEvents(static_cast<cl_uint>(list.size()), list.data());
  wait.end();
  return error;
}

cl_int finish_plainly(Process& p, cl_command_queue queue) {
  return may_be_polite(p, queue) ? finish_with_care(p, queue) : p.next.clFinish(queue);
}

cl_int wait_plainly(Process& p, cl_command_queue queue, std::span<const cl_event> list) {
  if (may_be_polite(p, queue)) return wait_with_care(p, queue, list);
  return p.next.clWaitForEvents(static_cast<cl_uint>(list.size()), list.data());
}

// The same where launches are timed.
[[gnu::noinline]] cl_int finish_timed(Process& p, cl_command_queue queue) {
  const Timers::Wait wait = p.timers.wait(queue, p.clock);
  const cl_int error = finish_plainly(p, queue);
  if (error == CL_SUCCESS) note_waited(p, queue, wait);
  return error;
}

[[gnu::noinline]] cl_int wait_timed(Process& p, cl_command_queue queue, cl_event event) {
  const Timers::Wait wait = p.timers.wait(queue, p.clock);
  const cl_int error = wait_plainly(p, queue, {&event, 1});
  if (error == CL_SUCCESS) note_waited(p, queue, wait, event);
  return error;
}

}  // namespace

cl_int CL_API_CALL finish(cl_command_queue queue) {
  Process& p = process();
  if (!p.timers.empty()) return finish_timed(p, queue);
  return may_be_polite(p, queue) ? finish_with_care(p, queue) : p.next.clFinish(queue);
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  Process& p = process();
  const bool timed = count == 1 && !p.timers.empty();
  if (events == nullptr || (!timed && !may_be_polite(p))) return p.next.clWaitForEvents(count, events);
  cl_command_queue queue = queue_of(p.next, {events, count});
  if (timed) return wait_timed(p, queue, *events);
  return may_be_polite(p, queue) ? wait_with_care(p, queue, {events, count})
                                 : p.next.clWaitForEvents(count, events);
}

}  // namespace cleave::interpose
