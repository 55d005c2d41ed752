// The functions that do nothing but wait. A thread that is cancelled meanwhile goes at their end.

#include <pthread.h>

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

// With nothing to clean up around the driver's wait, so that a thread may be cancelled there.
[[gnu::noinline]] cl_int finish_traced(Process& p, cl_command_queue queue) {
  const WaitTrace trace = p.trace->wait_begins("clFinish", queue);
  Waited how;
  const cl_int error = may_be_polite(p, queue) ? finish_with_care(p, queue, &how) : p.next.clFinish(queue);
  p.trace->wait_ends(trace, how, error, true);
  return error;
}

[[gnu::noinline]] cl_int wait_traced(Process& p, cl_uint count, const cl_event* events) {
  const WaitTrace trace = p.trace->wait_begins("clWaitForEvents", nullptr);
  const std::span<const cl_event> list(events, events != nullptr ? count : 0);
  Waited how;
  cl_command_queue queue = list.empty() || !may_be_polite(p) ? nullptr : queue_of(p.next, list);
  const bool polite = queue != nullptr && may_be_polite(p, queue);
  const cl_int error = polite ? wait_with_care(p, queue, list, &how) : p.next.clWaitForEvents(count, events);
  p.trace->wait_ends(trace, how, error, list);
  return error;
}

}  // namespace

cl_int CL_API_CALL finish(cl_command_queue queue) {
  Process& p = process();
  if (!p.trace && !may_be_polite(p, queue)) return p.next.clFinish(queue);
  const cl_int error = p.trace ? finish_traced(p, queue) : finish_with_care(p, queue);
  pthread_testcancel();
  return error;
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  Process& p = process();
  if (p.trace) {
    const cl_int error = wait_traced(p, count, events);
    pthread_testcancel();
    return error;
  }
  if (events == nullptr || !may_be_polite(p)) return p.next.clWaitForEvents(count, events);
  cl_command_queue queue = queue_of(p.next, {events, count});
  if (!may_be_polite(p, queue)) return p.next.clWaitForEvents(count, events);
  const cl_int error = wait_with_care(p, queue, {events, count});
  pthread_testcancel();
  return error;
}

}  // namespace cleave::interpose
