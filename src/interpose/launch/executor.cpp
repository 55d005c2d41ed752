#include "interpose/launch/executor.h"

#include <algorithm>
#include <span>

#include "interpose/launch/lone_pacer.h"
#include "interpose/state/callback_scope.h"
#include "launch/launch.h"
#include "launch/pipeline.h"
#include "plan/mode.h"
#include "plan/tag.h"

namespace cleave::interpose {
namespace {

using plan::UnsplitReason;

const Table& below(const Interposer& p, const Call& call) {
  return call.trace != nullptr ? call.trace->table() : p.next;
}

plan::LaunchMethod choose_method_for(base::LaunchMode requested, const ObjectRecords& records,
                                     const KernelRecord& kernel, const QueueRecord& queue,
                                     const plan::NDRange& range, std::size_t slices) {
  const plan::LaunchConditions conditions{.user_event_pending = !records.pending_user_events.empty(),
                                          .pacing_stalls = queue.pacing_stalls >= kMaxPacingStalls,
                                          .in_callback = CallbackScope::inside(),
                                          .can_add_queues = queue.queue_template.has_value()};
  return plan::choose_method(requested, kernel.facts, queue.facts, range, slices, conditions);
}

// Gives the program its event, and remembers those of the slices with which the launch began.
void return_event(const Table& next, RecordMap<SplitEventRecord>& split_events, const Call& call,
                  launch::LaunchResult& result, std::span<launch::Lane> lanes) {
  *call.event = result.last.release();
  SplitEventRecord record;
  std::size_t count = 0;
  record.first_slices[count++] = result.first.release();
  for (launch::Lane& lane : lanes) {  // the helper keeps its reference: the event may also be its newest
    const cl_event first = lane.first.get();
    if (first != nullptr && next.clRetainEvent(first) == CL_SUCCESS) record.first_slices[count++] = first;
  }
  try {
    split_events.add(*call.event, record);
  } catch (...) {  // out of memory: the event is valid, but reports the start of its last slice
    for (std::size_t i = 0; i < count; ++i) next.clReleaseEvent(record.first_slices[i]);
  }
}

// Enqueues the slices by the chosen method, or on one queue if there are no helpers for it; updates `method`.
launch::LaunchResult enqueue_by_method(Interposer& p, const Table& next, const launch::Launch& launch,
                                       const plan::Cut& cut, const QueueRecord& queue,
                                       plan::LaunchMethod& method, HelperQueues::Lease& lease) {
  if (method.mode == plan::Mode::pipelined) {
    if (!queue.has_helpers)
      p.records.queues.update(launch.queue, [](QueueRecord& record) { record.has_helpers = true; });
    p.helpers.acquire(lease, launch.queue, *queue.queue_template, queue.in_order, method.queues - 1);
    if (!lease.lanes().empty()) {
      launch::LaunchResult result = launch::pipeline(next, p.clock, launch, cut, lease.lanes());
      if (!result.refused) return result;
    }
    const bool busy = lease.lanes().empty() && !lease.refused();
    method =
        plan::LaunchMethod::queue(busy ? plan::SingleQueueReason::busy : plan::SingleQueueReason::refused);
  }
  return launch::enqueue_slices(next, p.clock, launch, cut, method.mode);
}

cl_int enqueue_whole(Interposer& p, const Call& call, const LaunchPlan& plan, LaunchPacer& pacer,
                     UnsplitReason why) {
  pacer.make_room();
  cl_event made = nullptr;
  Call asked = call;
  const bool own_event = call.event == nullptr && pacer.wants_event(call);
  if (own_event) asked.event = &made;
  cl_int error = launch_unsplit(p, asked, *plan.kernel->counters, why);
  // Perhaps for lack of an event that the program did not request.
  if (own_event && (error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY)) {
    asked.event = nullptr;
    error = launch_unsplit(p, asked, *plan.kernel->counters, why);
  }
  if (error != CL_SUCCESS) return error;
  const launch::Event ours(p.next, made);
  pacer.note_whole(call, asked.event != nullptr ? *asked.event : nullptr);
  return error;
}

cl_int enqueue_split(Interposer& p, const Call& call, const LaunchPlan& plan, LaunchPacer& pacer) {
  const KernelRecord& kernel = *plan.kernel;
  const QueueRecord& queue = *plan.queue;
  Gate* const gate = queue.in_order ? &p.gates.of(call.queue) : nullptr;
  const ExclusiveGate exclusive(gate, pacer.thread());
  if (gate != nullptr && !exclusive.is_exclusive())
    return enqueue_whole(p, call, plan, pacer, UnsplitReason::shared);
  const plan::Cut cut(*plan.range, plan.decision.slices, plan::order_of(kernel.facts));
  const bool tagged = kernel.facts.source == plan::Kernel::Source::tagged;
  plan::LaunchMethod method =
      choose_method_for(p.settings().launch, p.records, kernel, queue, *plan.range, cut.count());
  const bool is_paced = pacer.begin(method, cut.count(), gate != nullptr ? &gate->waiting() : nullptr);
  const launch::Launch launch{.queue = call.queue,
                              .kernel = call.kernel,
                              .range = *plan.range,
                              .tag = tagged ? plan::Tag::of(*plan.range, cut) : std::nullopt,
                              .waits = call.waits,
                              .wait_list = call.wait_list,
                              .wants_event = call.event != nullptr,
                              .in_order = queue.in_order,
                              .pacer = is_paced ? &pacer : nullptr};
  HelperQueues::Lease lease(p.helpers);
  if (call.trace != nullptr && is_paced) call.trace->paced();
  launch::LaunchResult result = enqueue_by_method(p, below(p, call), launch, cut, queue, method, lease);
  // Nothing has been enqueued: the driver's answer to the whole launch is what the program would get natively.
  if (result.slices == 0) return enqueue_whole(p, call, plan, pacer, UnsplitReason::driver);
  p.count_split(*kernel.counters, result.slices, pacer.own_part(result.added), method);
  if (call.trace != nullptr) [[unlikely]]
    call.trace->split(result.slices, method);
  const bool returns_event = result.error == CL_SUCCESS && call.event != nullptr;
  if (returns_event) return_event(p.next, p.records.split_events, call, result, lease.lanes());
  pacer.note_slices(call, result, returns_event ? *call.event : nullptr);
  return result.error;
}

}  // namespace

cl_int launch_unsplit(Interposer& p, const Call& call, observe::KernelCounters& counters, UnsplitReason why) {
  const GateGuard guard(p.gates.of(call.queue));
  const cl_int error = call.forward(below(p, call));
  if (error == CL_SUCCESS) p.count_unsplit(counters, why);
  if (error == CL_SUCCESS && call.trace != nullptr) call.trace->unsplit_reason(why);
  return error;
}

cl_int execute(Interposer& p, const Call& call, const LaunchPlan& plan, LaunchPacer& pacer) {
  return plan.is_split() ? enqueue_split(p, call, plan, pacer)
                         : enqueue_whole(p, call, plan, pacer, *plan.decision.unsplit_reason);
}

}  // namespace cleave::interpose
