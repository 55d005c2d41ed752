// A launch, from the program's call to the driver's: decide whether to split and into how many slices, in a turn if other
// processes share the device. Where a split may be wrong, the launch is forwarded unsplit and the reason is counted.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/log.h"
#include "base/threads/scoped_thread_state.h"
#include "interpose/calls/overrides.h"
#include "interpose/drivers/device_queries.h"
#include "interpose/interposer.h"
#include "interpose/launch/call.h"
#include "interpose/launch/executor.h"
#include "interpose/launch/fed_launch.h"
#include "interpose/launch/launch_facts.h"
#include "interpose/launch/lone_pacer.h"
#include "interpose/launch/turn_pacer.h"
#include "interpose/policies/policy.h"
#include "interpose/state/callback_scope.h"

namespace cleave::interpose {
namespace {

using plan::UnsplitReason;

// The only launch that a kernel with the prelude would misinterpret: an offset in the third dimension that it sees as
// a negative number.
bool is_mistaken_for_tag(Interposer& p, const Call& call, const KernelRecord& kernel) {
  if (call.dims != 3 || call.offset == nullptr || !kernel.may_have_prelude) [[likely]]
    return false;
  constexpr std::size_t kWide = std::numeric_limits<std::int64_t>::max();
  const bool has_bit_31 = ((call.offset[2] >> 31U) & 1U) != 0;
  const bool wide = call.offset[2] + call.global[2] - 1 > kWide;
  if (!has_bit_31 && !wide) return false;
  const auto queue = query_queue(p.next, p.devices, call.queue);
  if (!queue) return false;
  const auto facts = p.drivers.known(queue->device);
  return !facts || (facts->truncates_offsets ? has_bit_31 : wide);
}

cl_int refuse() {
  base::log_line(
      "an offset of 2^31 or more in the third dimension of a launch was refused: set CLEAVE_DISABLE=1");
  return CL_INVALID_GLOBAL_OFFSET;
}

void count_unsplit(Interposer& p, cl_kernel kernel, UnsplitReason why) {
  const auto known = p.records.kernels.find(kernel);
  p.count_unsplit(*(known ? *known : p.unknown_kernel).counters, why);
}

// The driver's answer to the whole launch shows whether it accepts smaller work-groups, from then on.
void note_accepted_shape(Interposer& p, const Call& call, const LaunchFacts& facts) {
  if (!facts.refused_for_shape() || !call.is_uneven()) [[likely]]
    return;
  const cl_device_id device = facts.queue().device;
  p.records.kernels.update(call.kernel, [device](KernelRecord& record) { record.uneven_accepted = device; });
}

// Why the program's thread may not wait in this call until commands before it have ended: some of them may depend on what the
// thread does next (the rules of `sequential` mode, plan/mode.h). Empty if none can.
std::optional<TurnExemption> exemption(const Interposer& p, const QueueRecord& queue) {
  if (!p.records.pending_user_events.empty()) return TurnExemption::user_event;
  if (queue.pacing_stalls >= kMaxPacingStalls) return TurnExemption::queue;
  if (CallbackScope::inside()) return TurnExemption::callback;
  return std::nullopt;
}

bool is_exempt(Interposer& p, const QueueRecord& queue) {
  const auto why = exemption(p, queue);
  if (why) p.turns.count_exempt(queue.device, *why);
  return why.has_value();
}

// Decides about the launch, once; this is the only place. `turn`: the turn in which it is made, whose policy applies
// whatever the settings name; null: none.
LaunchPlan plan_launch(Interposer& p, LaunchFacts& facts, const DeviceTurn* turn) {
  if (turn == nullptr) return facts.plan(p.policy->decide(facts));
  LaunchPlan plan = facts.plan(p.turn_slices->decide(facts));
  const CostKeys keys = facts.keys();
  plan.decision.key = keys.launch;
  plan.cost = p.turns.costs().duration(keys, plan::items(facts.range().global));
  if (plan.is_split() && p.turns.costs().goes_whole(plan.measured(), plan.decision.slices, turn->pace()))
    plan.keep_whole(UnsplitReason::below_quantum);
  return plan;
}

// Empty if the launch takes no turn. Not inlined, nor are others below, so that most launches do without their code: a launch's own
// time goes mostly into fetching what is not in the processor's caches any more after the driver's work for the one before.
[[gnu::noinline]] std::optional<cl_int> enqueue_in_turn(Interposer& p, const Call& call, LaunchFacts& facts) {
  auto queue = p.records.queues.find(call.queue);
  if (!queue || is_exempt(p, *queue)) return std::nullopt;
  DeviceTurn* const turn = p.turns.of(queue->device);
  if (turn == nullptr) return std::nullopt;
  TurnUse use(*turn, weight_of(*queue));
  // It may have been waited for long, and other threads may have changed or released the queue meanwhile.
  queue = p.records.queues.find(call.queue);
  if (!use.holds() || !queue || is_exempt(p, *queue)) return std::nullopt;
  use->log().count_launch();
  facts.begin_turn(*queue);
  LaunchPlan plan = plan_launch(p, facts, turn);
  if (plan.is_split()) {
    const auto slices = static_cast<base::Nanoseconds::rep>(plan.decision.slices);
    const launch::WaitResult room = use->make_room(Room::for_slices, plan.measured() / slices);
    if (room != launch::WaitResult::complete) plan.keep_whole(UnsplitReason::shared);
  }
  if (plan.is_split()) {
    if (const auto fed = feed(p, *turn, call, plan)) return fed;
  }
  TurnPacer pacer(p, plan, use);
  const cl_int error = execute(p, call, plan, pacer);
  if (error == CL_SUCCESS && !plan.is_split()) note_accepted_shape(p, call, facts);
  return error;
}

cl_int enqueue_alone(Interposer& p, const Call& call, LaunchFacts& facts, std::uint64_t changes) {
  const LaunchPlan plan = plan_launch(p, facts, nullptr);
  LonePacer pacer(p, plan);
  const cl_int error = execute(p, call, plan, pacer);
  if (error != CL_SUCCESS || plan.is_split()) return error;
  if (plan.decision.key == 0)
    p.repeated.add(call, facts.vms(), changes, {plan.kernel->counters, *plan.decision.unsplit_reason});
  note_accepted_shape(p, call, facts);
  return error;
}

[[gnu::noinline]] cl_int enqueue_new(Interposer& p, const Call& call, std::uint64_t changes) {
  const auto known = p.records.kernels.find(call.kernel);
  const KernelRecord& kernel = known ? *known : p.unknown_kernel;
  if (is_mistaken_for_tag(p, call, kernel)) return refuse();
  LaunchFacts facts(p, call, kernel);
  if (p.turns.contended()) [[unlikely]] {
    if (const auto error = enqueue_in_turn(p, call, facts)) return *error;
  }
  return enqueue_alone(p, call, facts, changes);
}

inline cl_int enqueue(Interposer& p, const Call& call) {
  p.turns.follow_limits();
  const std::uint64_t changes = p.records.changes.load(std::memory_order_acquire);
  const auto known = p.repeated.find(call, p.neighbours.vms(), changes);
  if (!known || p.turns.contended()) [[unlikely]]
    return enqueue_new(p, call, changes);
  return launch_unsplit(p, call, *known->counters, known->why);
}

inline cl_int enqueue_any(Interposer& p, const Call& call) {
  if (call.is_readable()) return enqueue(p, call);
  const GateGuard guard(p.gates.of(call.queue));
  return call.forward(p.next);
}

[[gnu::noinline]] cl_int enqueue_traced(Interposer& p, Call call) {
  LaunchTrace trace(*p.trace, {.function = "clEnqueueNDRangeKernel",
                               .queue = call.queue,
                               .kernel = call.kernel,
                               .dims = call.dims,
                               .global = call.global,
                               .local = call.local});
  call.trace = &trace;
  const cl_int error = enqueue_any(p, call);
  trace.end(error, error == CL_SUCCESS && call.event != nullptr ? *call.event : nullptr);
  return error;
}

[[gnu::noinline]] cl_int enqueue_task_traced(Interposer& p, cl_command_queue queue, cl_kernel kernel,
                                             cl_uint waits, const cl_event* wait_list, cl_event* event) {
  LaunchTrace trace(*p.trace, {.function = "clEnqueueTask",
                               .queue = queue,
                               .kernel = kernel,
                               .dims = 0,
                               .global = nullptr,
                               .local = nullptr});
  const GateGuard guard(p.gates.of(queue));
  const cl_int error = p.next.clEnqueueTask(queue, kernel, waits, wait_list, event);
  if (error == CL_SUCCESS) count_unsplit(p, kernel, UnsplitReason::one_group);
  if (error == CL_SUCCESS) trace.unsplit_reason(UnsplitReason::one_group);
  trace.end(error, error == CL_SUCCESS && event != nullptr ? *event : nullptr);
  return error;
}

using Command = cl_int(CL_API_CALL*)(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                     const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint*, void*);

}  // namespace

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                          const size_t* offset, const size_t* global, const size_t* local,
                                          cl_uint waits, const cl_event* wait_list,
                                          cl_event* event) noexcept {
  const base::ScopedCancelDisable uncancelled;
  Interposer& p = interposer();
  const LaunchTimers::Start start = p.launch_timers.begin(queue, p.clock);
  const Call call{queue, kernel, dims, offset, global, local, waits, wait_list, event, start};
  if (const cl_int error = p.feeder.settle(queue); error != CL_SUCCESS) [[unlikely]]
    return error;
  if (!p.begin_splitting()) return call.forward(p.next);
  p.wait_statistics.of(queue).note_work();
  if (p.trace) [[unlikely]]
    return enqueue_traced(p, call);
  return enqueue_any(p, call);
}

// A task is a launch of one work-item.
cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
                                 const cl_event* wait_list, cl_event* event) noexcept {
  Interposer& p = interposer();
  p.note_command(queue);
  if (const cl_int error = p.feeder.settle(queue); error != CL_SUCCESS) return error;
  if (p.trace && p.begin_splitting()) return enqueue_task_traced(p, queue, kernel, waits, wait_list, event);
  const GateGuard guard(p.gates.of(queue));
  const cl_int error = p.next.clEnqueueTask(queue, kernel, waits, wait_list, event);
  if (error == CL_SUCCESS && p.begin_splitting()) count_unsplit(p, kernel, UnsplitReason::one_group);
  return error;
}

// A command buffer records the launch unchanged; it may be modified and run many times later.
cl_int CL_API_CALL clCommandNDRangeKernelKHR(void* command_buffer, cl_command_queue queue,
                                             const void* properties, cl_kernel kernel, cl_uint dims,
                                             const size_t* offset, const size_t* global, const size_t* local,
                                             cl_uint points, const cl_uint* point_list, cl_uint* point,
                                             void* mutable_handle) noexcept try {
  Interposer& p = interposer();
  // The program got ours in place of the driver's, so the kernel's platform has one.
  const auto command = reinterpret_cast<Command>(
      find_extension_function(p.next, p.devices, p.records.contexts, kernel, "clCommandNDRangeKernelKHR"));
  if (command == nullptr) return CL_INVALID_KERNEL;
  const cl_int error = command(command_buffer, queue, properties, kernel, dims, offset, global, local, points,
                               point_list, point, mutable_handle);
  if (error == CL_SUCCESS && p.begin_splitting()) count_unsplit(p, kernel, UnsplitReason::recorded);
  return error;
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace cleave::interpose
