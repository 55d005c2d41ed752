// What orders commands and does nothing else: flush, finish, markers, barriers.
#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace ordering_functions {

void flush(CallFrame& frame, cl_command_queue handle) { frame.state.timeline.flush(frame.state.get(handle)); }

// Waits for the commands that are there now: another thread may go on enqueuing.
void finish(CallFrame& frame, const Queue& queue) {
  wait_for(frame, {queue.commands.begin(), queue.commands.end()});
}

CommandSpec ordering(cl_command_type type, Timeline::Placement placement) {
  CommandSpec spec{type, nullptr, nullptr};
  spec.occupies_device = false;
  spec.placement = placement;
  return spec;
}

void marker_with_list(CallFrame& frame, Queue& queue, WaitListArguments wait_list) {
  const Timeline::Placement placement{.barrier = false, .waits_for_all = wait_list.count == 0};
  enqueue(frame, queue, ordering(CL_COMMAND_MARKER, placement), wait_list);
}

void barrier_with_list(CallFrame& frame, Queue& queue, WaitListArguments wait_list) {
  const Timeline::Placement placement{.barrier = true, .waits_for_all = wait_list.count == 0};
  enqueue(frame, queue, ordering(CL_COMMAND_BARRIER, placement), wait_list);
}

void marker(CallFrame& frame, Queue& queue, cl_event* event) {
  require(event != nullptr, CL_INVALID_VALUE);
  marker_with_list(frame, queue, {0, nullptr, event});
}

void barrier(CallFrame& frame, Queue& queue) { barrier_with_list(frame, queue, {}); }

// The older function has its own errors for a bad list.
void wait_for_events(CallFrame& frame, Queue& queue, cl_uint count, const cl_event* waits) {
  require(count > 0 && waits != nullptr, CL_INVALID_VALUE);
  for (cl_uint i = 0; i < count; ++i) frame.state.get(waits[i]);
  barrier_with_list(frame, queue, {count, waits, nullptr});
}

}  // namespace ordering_functions

void ordering_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clFlush, flush);
  SIM_IMPLEMENT(clFinish, finish);
  SIM_IMPLEMENT(clEnqueueMarkerWithWaitList, marker_with_list);
  SIM_IMPLEMENT(clEnqueueBarrierWithWaitList, barrier_with_list);
  SIM_IMPLEMENT(clEnqueueMarker, marker);
  SIM_IMPLEMENT(clEnqueueBarrier, barrier);
  SIM_IMPLEMENT(clEnqueueWaitForEvents, wait_for_events);
}

}  // namespace cleave::sim
