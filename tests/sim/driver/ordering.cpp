// What orders commands and does nothing else: flush, finish, markers, barriers.
#include "tests/sim/driver/commands.h"
#include "tests/sim/driver/entry.h"
#include "tests/sim/driver/table.h"

namespace cleave::sim {
namespace {

void flush(Frame& frame, cl_command_queue handle) { frame.session.timeline.flush(frame.session.get(handle)); }

// Waits for the commands that are there now: another thread may go on enqueuing.
void finish(Frame& frame, cl_command_queue handle) {
  const Queue& queue = frame.session.get(handle);
  wait_for(frame, {queue.commands.begin(), queue.commands.end()});
}

Job ordering(cl_command_type type, Timeline::Place place) {
  Job job{type, nullptr, nullptr};
  job.takes_time = false;
  job.place = place;
  return job;
}

void marker_with_list(Frame& frame, cl_command_queue queue, cl_uint count, const cl_event* waits,
                      cl_event* event) {
  const Timeline::Place place{.barrier = false, .waits_for_all = count == 0};
  enqueue(frame, frame.session.get(queue), ordering(CL_COMMAND_MARKER, place), {count, waits, event});
}

void barrier_with_list(Frame& frame, cl_command_queue queue, cl_uint count, const cl_event* waits,
                       cl_event* event) {
  const Timeline::Place place{.barrier = true, .waits_for_all = count == 0};
  enqueue(frame, frame.session.get(queue), ordering(CL_COMMAND_BARRIER, place), {count, waits, event});
}

void marker(Frame& frame, cl_command_queue queue, cl_event* event) {
  Queue& found = frame.session.get(queue);
  require(event != nullptr, CL_INVALID_VALUE);
  enqueue(frame, found, ordering(CL_COMMAND_MARKER, {.barrier = false, .waits_for_all = true}),
          {0, nullptr, event});
}

void barrier(Frame& frame, cl_command_queue queue) { barrier_with_list(frame, queue, 0, nullptr, nullptr); }

// The older function has its own errors for a bad list.
void wait_for_events(Frame& frame, cl_command_queue queue, cl_uint count, const cl_event* waits) {
  frame.session.get(queue);
  require(count > 0 && waits != nullptr, CL_INVALID_VALUE);
  for (cl_uint i = 0; i < count; ++i) frame.session.get(waits[i]);
  barrier_with_list(frame, queue, count, waits, nullptr);
}

}  // namespace

void add_ordering_functions(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clFlush, flush);
  SIM_IMPLEMENT(clFinish, finish);
  SIM_IMPLEMENT(clEnqueueMarkerWithWaitList, marker_with_list);
  SIM_IMPLEMENT(clEnqueueBarrierWithWaitList, barrier_with_list);
  SIM_IMPLEMENT(clEnqueueMarker, marker);
  SIM_IMPLEMENT(clEnqueueBarrier, barrier);
  SIM_IMPLEMENT(clEnqueueWaitForEvents, wait_for_events);
}

}  // namespace cleave::sim
