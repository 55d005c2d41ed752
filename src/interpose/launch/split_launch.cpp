#include "interpose/launch/split_launch.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <pthread.h>
#include <span>

#include "interpose/launch/slice_pacer.h"
#include "interpose/launch/turn_pacer.h"
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
  if (call.event == nullptr) return;
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

// Few slices are in flight in a turn, so more queues would not help.
plan::LaunchMethod held_back(plan::LaunchMethod method, std::size_t in_flight) {
  constexpr unsigned kQueues = 2;
  if (method.mode == plan::Mode::pipelined && in_flight > 1) {
    method.queues = std::min(method.queues, kQueues);
  } else {
    method.mode = plan::Mode::sequential;
  }
  return method;
}

void count_stall(RecordMap<QueueRecord>& queues, cl_command_queue queue, bool stalled) {
  queues.update(queue,
                [&](QueueRecord& record) { record.pacing_stalls = stalled ? record.pacing_stalls + 1 : 0; });
}

}  // namespace

cl_int launch_unsplit(Interposer& p, const Call& call, observe::KernelCounters& counters, UnsplitReason why) {
  const GateGuard guard(p.gates.of(call.queue));
  const cl_int error = call.forward(below(p, call));
  if (error == CL_SUCCESS) p.count_unsplit(counters, why);
  if (error == CL_SUCCESS && call.trace != nullptr) call.trace->unsplit_reason(why);
  return error;
}

void measure_launch(CostFeedback& costs, const Call& call, const QueueRecord& queue,
                    const MeasuredLaunch& measured) {
  costs.note_launch({.queue = call.queue,
                     .profiling = queue.profiling,
                     .waits = call.waits != 0,
                     .start = call.start,
                     .event = call.event != nullptr ? *call.event : nullptr},
                    measured);
}

cl_int launch_unsplit_in_turn(Interposer& p, const Call& call, const KernelRecord& kernel, UnsplitReason why,
                              const LaunchTurn& turn) {
  // It may wait for the program, which must not wait for it.
  if (kernel.facts.may_wait) return launch_unsplit(p, call, *kernel.counters, why);
  TurnCommand command{.queue = call.queue, .expected = turn.expected, .key = turn.key};
  cl_event made = nullptr;
  Call asked = call;
  const bool own_event = call.event == nullptr && turn.use.wants_event(command);
  if (own_event) asked.event = &made;
  cl_int error = launch_unsplit(p, asked, *kernel.counters, why);
  // Perhaps for want of an event that the program did not ask for.
  if (own_event && (error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY)) {
    asked.event = nullptr;
    error = launch_unsplit(p, asked, *kernel.counters, why);
  }
  if (error != CL_SUCCESS) return error;
  const launch::Event ours(p.next, made);
  if (asked.event != nullptr) {
    SlicePacer(p.next, p.clock, p.records.queues, nullptr).flush_upstream({call.wait_list, call.waits});
    p.next.clFlush(call.queue);
    command.event = *asked.event;
  }
  turn.use.enqueued(command);
  return error;
}

cl_int launch_split(Interposer& p, const Call& call, const Split& split, const LaunchTurn* turn) {
  const QueueRecord& queue = split.queue;
  Gate* const gate = queue.in_order ? &p.gates.of(call.queue) : nullptr;
  const bool is_fed = turn != nullptr && turn->caller != nullptr;
  const ExclusiveGate exclusive(gate, is_fed ? turn->caller->thread() : pthread_self());
  const auto unsplit = [&](UnsplitReason why) {
    if (turn == nullptr) return launch_unsplit(p, call, *split.kernel.counters, why);
    static_cast<void>(turn->use.make_room(Room::for_launch, turn->expected));
    return launch_unsplit_in_turn(p, call, split.kernel, why, *turn);
  };
  if (gate != nullptr && !exclusive.is_exclusive()) return unsplit(UnsplitReason::shared);
  const plan::Cut cut(split.range, split.slices, plan::order_of(split.kernel.facts));
  const bool tagged = split.kernel.facts.source == plan::Kernel::Source::tagged;
  const std::atomic<int>* const abort = gate != nullptr ? &gate->waiting() : nullptr;
  SlicePacer pacer(p.next, p.clock, p.records.queues, abort);
  std::optional<TurnPacer> turn_pacer;
  plan::LaunchMethod method =
      choose_method_for(p.settings().launch, p.records, split.kernel, queue, split.range, cut.count());
  if (turn != nullptr) {
    const auto expected = turn->is_certain ? turn->expected : base::Nanoseconds(0);
    method = held_back(method, turn->use.pace().in_flight);
    turn_pacer.emplace(turn->use, pacer, p.clock, expected, cut.count(), abort, turn->caller);
  }
  const bool sequential = method.mode == plan::Mode::sequential;
  launch::Pacer* const paced_by = turn_pacer   ? &*turn_pacer
                                  : sequential ? static_cast<launch::Pacer*>(&pacer)
                                               : nullptr;
  const launch::Launch launch{.queue = call.queue,
                              .kernel = call.kernel,
                              .range = split.range,
                              .tag = tagged ? plan::Tag::of(split.range, cut) : std::nullopt,
                              .waits = call.waits,
                              .wait_list = call.wait_list,
                              .wants_event = call.event != nullptr,
                              .in_order = queue.in_order,
                              .pacer = paced_by};
  HelperQueues::Lease lease(p.helpers);
  if (call.trace != nullptr && paced_by != nullptr) call.trace->paced();
  launch::LaunchResult result = enqueue_by_method(p, below(p, call), launch, cut, queue, method, lease);
  // Nothing has been enqueued: the driver's answer to the whole launch is what the program would get natively.
  if (result.slices == 0) return unsplit(UnsplitReason::driver);
  const base::Nanoseconds others = turn_pacer ? turn_pacer->others() : base::Nanoseconds(0);
  // A call whose launch is fed has returned.
  const base::Nanoseconds added = is_fed ? base::Nanoseconds(0) : result.added - others;
  p.count_split(*split.kernel.counters, result.slices, added, method);
  if (call.trace != nullptr) [[unlikely]]
    call.trace->split(result.slices, method);
  if (!turn_pacer && sequential && (result.stalled || queue.pacing_stalls != 0))
    count_stall(p.records.queues, call.queue, result.stalled);
  if (turn_pacer) {
    const base::Nanoseconds measured = turn_pacer->measured();
    const base::Nanoseconds since = turn_pacer->undisturbed_since();
    const bool by_end = measured.count() == 0 && since.count() != 0;
    p.next.clFlush(call.queue);
    turn->use.enqueued(
        {.queue = call.queue,
         .event = result.last.get(),
         .expected = turn_pacer->slice() * static_cast<base::Nanoseconds::rep>(result.slices_of_last),
         .key = by_end ? split.key : 0,
         .since = since,
         .fineness = split.fineness});
    p.turns.costs().observe(split.key, turn_pacer->tells_cost_of_slices() ? split.fineness : 0, measured);
  }
  if (result.error == CL_SUCCESS) {
    return_event(p.next, p.records.split_events, call, result, lease.lanes());
    if (!turn_pacer) measure_launch(p.costs, call, queue, {split.key, result.slices});
  }
  return result.error;
}

}  // namespace cleave::interpose
