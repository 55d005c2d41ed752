// The functions that do nothing but wait. A thread that is cancelled meanwhile goes at their end.

#include <pthread.h>

#include "interpose/lessons.h"
#include "interpose/overrides.h"
#include "interpose/wait.h"

namespace cleave::interpose {
namespace {

// Not inlined, so that the callers have nothing to clean up.
[[gnu::noinline]] cl_int finish_with_care(Process& p, cl_command_queue queue,
                                          Waited* how = nullptr) noexcept {
  Wait wait(p, queue, WaitKind::finish);
  if (wait.polite()) wait.watch_queue();
  const cl_int error = p.next.clFinish(queue);
  wait.end();
  if (how != nullptr) *how = wait.how();
  return error;
}

[[gnu::noinline]] cl_int wait_with_care(Process& p, cl_command_queue queue, std::span<const cl_event> list,
                                        Waited* how = nullptr) noexcept {
  Wait wait(p, queue, WaitKind::events);
  if (wait.polite()) wait.watch_list(list);
  const cl_int error = p.next.clWaitForEvents(static_cast<cl_uint>(list.size()), list.data());
  wait.end();
  if (how != nullptr) *how = wait.how();
  return error;
}

// From here on with nothing to clean up around the driver's wait, so that a thread may be cancelled there.
cl_int finish_plainly(Process& p, cl_command_queue queue, Waited* how = nullptr) {
  return may_be_polite(p, queue) ? finish_with_care(p, queue, how) : p.next.clFinish(queue);
}

cl_int wait_plainly(Process& p, cl_uint count, const cl_event* events, Waited* how = nullptr) {
  if (events == nullptr || !may_be_polite(p)) return p.next.clWaitForEvents(count, events);
  cl_command_queue queue = queue_of(p.next, {events, count});
  return may_be_polite(p, queue) ? wait_with_care(p, queue, {events, count}, how)
                                 : p.next.clWaitForEvents(count, events);
}

[[gnu::noinline]] cl_int finish_traced(Process& p, cl_command_queue queue) {
  const WaitTrace trace = p.trace->wait_begins("clFinish", queue);
  Waited how;
  const cl_int error = finish_plainly(p, queue, &how);
  p.trace->wait_ends(trace, how, error, true);
  return error;
}

[[gnu::noinline]] cl_int wait_traced(Process& p, cl_uint count, const cl_event* events) {
  const WaitTrace trace = p.trace->wait_begins("clWaitForEvents", nullptr);
  Waited how;
  const cl_int error = wait_plainly(p, count, events, &how);
  p.trace->wait_ends(trace, how, error, std::span(events, events != nullptr ? count : 0));
  return error;
}

cl_int finish_known(Process& p, cl_command_queue queue) {
  return p.trace ? finish_traced(p, queue) : finish_plainly(p, queue);
}

cl_int wait_known(Process& p, cl_uint count, const cl_event* events) {
  return p.trace ? wait_traced(p, count, events) : wait_plainly(p, count, events);
}

// The same where launches are timed.
[[gnu::noinline]] cl_int finish_timed(Process& p, cl_command_queue queue) {
  const Timers::Wait wait = p.timers.wait(queue, p.clock);
  const cl_int error = finish_known(p, queue);
  if (error == CL_SUCCESS) note_waited(p, queue, wait);
  return error;
}

[[gnu::noinline]] cl_int wait_timed(Process& p, cl_event event) {
  cl_command_queue queue = queue_of(p.next, {&event, 1});
  const Timers::Wait wait = p.timers.wait(queue, p.clock);
  const cl_int error = wait_known(p, 1, &event);
  if (error == CL_SUCCESS) note_waited(p, queue, wait, event);
  return error;
}

}  // namespace

cl_int CL_API_CALL finish(cl_command_queue queue) {
  Process& p = process();
  if (!p.trace && p.timers.empty() && !may_be_polite(p, queue)) return p.next.clFinish(queue);
  const cl_int error = p.timers.empty() ? finish_known(p, queue) : finish_timed(p, queue);
  pthread_testcancel();
  return error;
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  Process& p = process();
  const bool timed = count == 1 && events != nullptr && !p.timers.empty();
  if (!p.trace && !timed && (events == nullptr || !may_be_polite(p))) {
    return p.next.clWaitForEvents(count, events);
  }
  const cl_int error = timed ? wait_timed(p, *events) : wait_known(p, count, events);
  pthread_testcancel();
  return error;
}

}  // namespace cleave::interpose
