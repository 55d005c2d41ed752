// The functions that do nothing but wait.

#include "interpose/overrides.h"
#include "interpose/wait.h"

namespace cleave::interpose {

cl_int CL_API_CALL finish(cl_command_queue queue) {
  Process& p = process();
  Wait wait(p, queue, WaitKind::finish);
  if (wait.polite()) wait.watch_queue();
  const cl_int error = p.next.clFinish(queue);
  wait.end();
  return error;
}

cl_int CL_API_CALL wait_for_events(cl_uint count, const cl_event* events) {
  Process& p = process();
  if (events == nullptr || !may_be_polite(p)) return p.next.clWaitForEvents(count, events);
  const std::span<const cl_event> list(events, count);
  Wait wait(p, queue_of(p.next, list), WaitKind::events);
  if (wait.polite()) wait.watch_list(list);
  const cl_int error = p.next.clWaitForEvents(count, events);
  wait.end();
  return error;
}

}  // namespace cleave::interpose
