// A launch, from the program's call to the driver's: decide whether to split and into how many slices, cut, enqueue,
// remember the event. Where a split may be wrong, the launch is forwarded unsplit and the reason is counted.

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/log.h"
#include "interpose/calls/overrides.h"
#include "interpose/drivers/device_queries.h"
#include "interpose/interposer.h"
#include "interpose/launch/driver_hazards.h"
#include "interpose/launch/local_size.h"
#include "interpose/policies/policy.h"
#include "interpose/state/callback_scope.h"
#include "interpose/waits/slice_pacer.h"
#include "launch/launch.h"
#include "launch/pipeline.h"
#include "plan/mode.h"
#include "plan/tag.h"

namespace cleave::interpose {
namespace {

using plan::Decision;
using plan::UnsplitReason;

// The arguments of the program's call.
struct Call {
  cl_command_queue queue;
  cl_kernel kernel;
  cl_uint dims;
  const size_t* offset;
  const size_t* global;
  const size_t* local;
  cl_uint waits;
  const cl_event* wait_list;
  cl_event* event;
  LaunchTimers::Start start;     // for measured launches
  LaunchTrace* trace = nullptr;  // null without CLEAVE_TRACE

  [[nodiscard]] cl_int forward(const Table& next) const {
    return next.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait_list, event);
  }

  // Whether sizes and wait list can be read; if not, the driver reports the error.
  [[nodiscard]] bool is_readable() const {
    if (dims < 1 || dims > 3 || global == nullptr) return false;
    if (waits != 0 && wait_list == nullptr) return false;
    for (cl_uint d = 0; d < dims; ++d) {
      if (global[d] == 0 || (local != nullptr && local[d] == 0)) return false;
    }
    return true;
  }

  [[nodiscard]] plan::NDRange range() const {
    plan::NDRange range;
    range.dims = dims;
    for (cl_uint d = 0; d < dims; ++d) {
      range.global[d] = global[d];
      if (offset != nullptr) range.offset[d] = offset[d];
      if (local != nullptr) range.local[d] = local[d];
    }
    return range;
  }
};

bool is_uneven(const Call& call) {
  if (call.local == nullptr) return false;
  for (cl_uint d = 0; d < call.dims; ++d) {
    if (call.global[d] % call.local[d] != 0) return true;
  }
  return false;
}

const Table& below(const Interposer& p, const Call& call) {
  return call.trace != nullptr ? call.trace->table() : p.next;
}

cl_int launch_unsplit(Interposer& p, const Call& call, const KernelRecord& kernel, UnsplitReason why) {
  const GateGuard guard(p.gates.of(call.queue));
  const cl_int error = call.forward(below(p, call));
  if (error == CL_SUCCESS) p.count_unsplit(*kernel.counters, why);
  if (error == CL_SUCCESS && call.trace != nullptr) call.trace->unsplit_reason(why);
  return error;
}

void note(CostFeedback& costs, const Call& call, const QueueRecord& queue, const MeasuredLaunch& measured) {
  costs.note_launch({.queue = call.queue,
                     .profiling = queue.profiling,
                     .waits = call.waits != 0,
                     .start = call.start,
                     .event = call.event != nullptr ? *call.event : nullptr},
                    measured);
}

plan::LaunchMethod choose_method_for(base::LaunchMode requested, const ObjectRecords& records,
                                     const KernelRecord& kernel, const QueueRecord& queue,
                                     const plan::NDRange& range, std::size_t slices) {
  constexpr unsigned kMaxStalls = 3;
  const plan::LaunchConditions conditions{.user_event_pending = !records.pending_user_events.empty(),
                                          .pacing_stalls = queue.pacing_stalls >= kMaxStalls,
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

bool is_among(const std::vector<cl_device_id>& devices, cl_device_id device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Why slices cannot tell this kernel about the whole launch; empty if they can. The driver is not probed here: this may
// be a callback, or the device may be busy.
std::optional<UnsplitReason> tag_obstacle(ProbeCache& drivers, const KernelRecord& kernel,
                                          cl_device_id device, const plan::NDRange& range) {
  if (!kernel.trusted && !(kernel.tagged && is_among(*kernel.tagged, device)))
    return UnsplitReason::untagged_build;
  const bool flat = plan::is_flat(range);
  // A binary may lack the prelude, or have that of a version which did not know such tags.
  if (kernel.trusted && !flat) return UnsplitReason::no_room_for_tag;
  const auto facts = drivers.known(device);
  const bool carries = facts && (flat ? facts->carries_tags : facts->carries_volume_tags);
  return carries ? std::nullopt : std::optional(UnsplitReason::no_tags);
}

// The only launch that a kernel with the prelude would misinterpret: an offset in the third dimension that it sees as
// a negative number.
bool is_mistaken_for_tag(Interposer& p, const Call& call, const KernelRecord& kernel) {
  if (call.dims != 3 || call.offset == nullptr || !kernel.may_have_prelude) return false;
  constexpr std::size_t kWide = std::numeric_limits<std::int64_t>::max();
  const bool has_bit_31 = ((call.offset[2] >> 31U) & 1U) != 0;
  const bool wide = call.offset[2] + call.global[2] - 1 > kWide;
  if (!has_bit_31 && !wide) return false;
  const auto queue = query_queue(p.next, p.settings(), call.queue);
  if (!queue) return false;
  const auto facts = p.drivers.known(queue->device);
  return !facts || (facts->truncates_offsets ? has_bit_31 : wide);
}

cl_int refuse() {
  base::log_line(
      "an offset of 2^31 or more in the third dimension of a launch was refused: set CLEAVE_DISABLE=1");
  return CL_INVALID_GLOBAL_OFFSET;
}

// Enqueues the slices by the chosen method, or on one queue if there are no helpers for it; updates `method`.
launch::LaunchResult enqueue_slices(Interposer& p, const Table& next, const launch::Launch& launch,
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

cl_int split(Interposer& p, const Call& call, const KernelRecord& kernel, const QueueRecord& queue,
             const plan::NDRange& range, std::size_t slices, learn::Key key) {
  Gate* const gate = queue.in_order ? &p.gates.of(call.queue) : nullptr;
  const ExclusiveGate exclusive(gate);
  if (gate != nullptr && !exclusive.is_exclusive())
    return launch_unsplit(p, call, kernel, UnsplitReason::shared);
  const plan::Cut cut(range, slices, plan::order_of(kernel.facts));
  const bool tagged = kernel.facts.source == plan::Kernel::Source::tagged;
  SlicePacer pacer(p.next, p.clock, p.records.queues, gate != nullptr ? &gate->waiting() : nullptr);
  const launch::Launch launch{.queue = call.queue,
                              .kernel = call.kernel,
                              .range = range,
                              .tag = tagged ? plan::Tag::of(range, cut) : std::nullopt,
                              .waits = call.waits,
                              .wait_list = call.wait_list,
                              .wants_event = call.event != nullptr,
                              .in_order = queue.in_order,
                              .pacer = &pacer};
  plan::LaunchMethod method =
      choose_method_for(p.settings().launch, p.records, kernel, queue, range, cut.count());
  HelperQueues::Lease lease(p.helpers);
  if (call.trace != nullptr && method.mode == plan::Mode::sequential) call.trace->paced();
  launch::LaunchResult result = enqueue_slices(p, below(p, call), launch, cut, queue, method, lease);
  // Nothing has been enqueued: the driver's answer to the whole launch is what the program would get natively.
  if (result.slices == 0) return launch_unsplit(p, call, kernel, UnsplitReason::driver);
  p.count_split(*kernel.counters, result.slices, result.added, method);
  if (call.trace != nullptr) [[unlikely]]
    call.trace->split(result.slices, method);
  if (method.mode == plan::Mode::sequential && (result.stalled || queue.pacing_stalls != 0)) {
    p.records.queues.update(call.queue, [&](QueueRecord& record) {
      record.pacing_stalls = result.stalled ? record.pacing_stalls + 1 : 0;
    });
  }
  if (result.error == CL_SUCCESS) {
    return_event(p.next, p.records.split_events, call, result, lease.lanes());
    note(p.costs, call, queue, {key, result.slices});
  }
  return result.error;
}

KernelRecord known(Interposer& p, cl_kernel kernel) {
  KernelRecord unknown;
  unknown.counters = &p.unknown_kernel;
  return p.records.kernels.find(kernel).value_or(unknown);
}

// The program's launch, as the policy sees it.
class PlannedLaunch final : public LaunchQuery {
 public:
  PlannedLaunch(Interposer& p, const Call& call, const KernelRecord& kernel)
      : p_(p), call_(call), kernel_(kernel), range_(call.range()), items_(plan::items(range_.global)) {}

  [[nodiscard]] const KernelRecord& kernel() const override { return kernel_; }
  [[nodiscard]] unsigned vms() const override { return p_.neighbours.vms(); }
  [[nodiscard]] const QueueRecord& queue() const override {
    assert(queue_);
    return *queue_;
  }
  [[nodiscard]] const plan::NDRange& range() const override { return range_; }

  std::optional<UnsplitReason> kernel_obstacle() override {
    return plan::obstacle(p_.settings(), kernel_.facts, plan::Device{.cores = 0}, items_);
  }

  std::optional<UnsplitReason> queue_obstacle() override {
    queue_ = p_.records.queues.find(call_.queue);
    if (!queue_) queue_ = query_queue(p_.next, p_.settings(), call_.queue);
    if (!queue_) return UnsplitReason::queue_properties;
    if (queue_->remote) return UnsplitReason::remote;
    if (!queue_->plain) {
      return queue_->crashes_on_mixed_offsets ? UnsplitReason::mixed_offsets
                                              : UnsplitReason::queue_properties;
    }
    if (const auto hazard = driver_hazard(p_.next, p_.records, *queue_, {call_.wait_list, call_.waits}))
      return hazard;
    if (const auto reason = plan::obstacle(p_.settings(), kernel_.facts, queue_->facts, items_))
      return reason;
    if (kernel_.facts.source == plan::Kernel::Source::tagged) {
      if (const auto reason = tag_obstacle(p_.drivers, kernel_, queue_->device, range_)) return reason;
    }
    if (queue_->copies_variables && kernel_.has_program_variables) return UnsplitReason::variable_copies;
    return items_ == 1 ? std::optional(UnsplitReason::one_group) : std::nullopt;
  }

  std::optional<UnsplitReason> fix_local_size(std::size_t slices) override {
    if (call_.local != nullptr) return std::nullopt;
    const auto local = explicit_local_size(p_.next, *queue_, call_.queue, call_.kernel,
                                           kernel_.facts.depends_on_grouping, range_, slices);
    if (!local) return UnsplitReason::local_size;
    range_.local = *local;
    return std::nullopt;
  }

  Decision cut(std::size_t slices) override {
    const Decision decision = plan::validate_cut(range_, kernel_.facts, queue_->facts, slices,
                                                 kernel_.uneven_accepted == queue_->device);
    refused_for_shape_ =
        decision.unsplit_reason && plan::kind_of(*decision.unsplit_reason) == UnsplitReason::shape;
    return decision;
  }

  // Whether the latest cut() was refused because of smaller work-groups at the end, or other properties of the range.
  [[nodiscard]] bool refused_for_shape() const { return refused_for_shape_; }

 private:
  Interposer& p_;
  const Call& call_;
  const KernelRecord& kernel_;
  plan::NDRange range_;
  const std::size_t items_;
  std::optional<QueueRecord> queue_;
  bool refused_for_shape_ = false;
};

cl_int enqueue(Interposer& p, const Call& call) {
  const KernelRecord kernel = known(p, call.kernel);
  if (is_mistaken_for_tag(p, call, kernel)) return refuse();
  PlannedLaunch launch(p, call, kernel);
  const PolicyDecision decision = p.policy->decide(launch);
  if (!decision.unsplit_reason)
    return split(p, call, kernel, launch.queue(), launch.range(), decision.slices, decision.key);
  const cl_int error = launch_unsplit(p, call, kernel, *decision.unsplit_reason);
  if (error != CL_SUCCESS) return error;
  if (decision.key != 0) note(p.costs, call, launch.queue(), {decision.key, 1});
  // The driver's answer to the whole launch shows whether it accepts smaller work-groups, from then on.
  if (launch.refused_for_shape() && is_uneven(call)) {
    const cl_device_id device = launch.queue().device;
    p.records.kernels.update(call.kernel,
                             [device](KernelRecord& record) { record.uneven_accepted = device; });
  }
  return error;
}

inline cl_int enqueue_any(Interposer& p, const Call& call) {
  if (call.is_readable()) return enqueue(p, call);
  const GateGuard guard(p.gates.of(call.queue));
  return call.forward(p.next);
}

// Not inlined, so that launches without a trace have no overhead.
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
  if (error == CL_SUCCESS) p.count_unsplit(*known(p, kernel).counters, UnsplitReason::one_group);
  if (error == CL_SUCCESS) trace.unsplit_reason(UnsplitReason::one_group);
  trace.end(error, error == CL_SUCCESS && event != nullptr ? *event : nullptr);
  return error;
}

using Command = cl_int(CL_API_CALL*)(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                     const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint*, void*);

// The driver's own function. The program got ours in its place, so the kernel's platform has it.
Command find_command(const Table& next, cl_kernel kernel) {
  cl_context context = nullptr;
  cl_uint count = 0;
  next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(cl_context), &context, nullptr);
  next.clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> devices(count);
  next.clGetContextInfo(context, CL_CONTEXT_DEVICES, count * sizeof(cl_device_id), devices.data(), nullptr);
  if (devices.empty()) return nullptr;
  return reinterpret_cast<Command>(find_extension_function(next, devices[0], "clCommandNDRangeKernelKHR"));
}

}  // namespace

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                          const size_t* offset, const size_t* global, const size_t* local,
                                          cl_uint waits, const cl_event* wait_list,
                                          cl_event* event) noexcept {
  Interposer& p = interposer();
  const LaunchTimers::Start start = p.launch_timers.begin(queue, p.clock);
  const Call call{queue, kernel, dims, offset, global, local, waits, wait_list, event, start};
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
  if (p.trace && p.begin_splitting()) return enqueue_task_traced(p, queue, kernel, waits, wait_list, event);
  const GateGuard guard(p.gates.of(queue));
  const cl_int error = p.next.clEnqueueTask(queue, kernel, waits, wait_list, event);
  if (error == CL_SUCCESS && p.begin_splitting()) {
    p.count_unsplit(*known(p, kernel).counters, UnsplitReason::one_group);
  }
  return error;
}

// A command buffer records the launch unchanged; it may be modified and run many times later.
cl_int CL_API_CALL clCommandNDRangeKernelKHR(void* command_buffer, cl_command_queue queue,
                                             const void* properties, cl_kernel kernel, cl_uint dims,
                                             const size_t* offset, const size_t* global, const size_t* local,
                                             cl_uint points, const cl_uint* point_list, cl_uint* point,
                                             void* mutable_handle) noexcept try {
  Interposer& p = interposer();
  const Command command = find_command(p.next, kernel);
  if (command == nullptr) return CL_INVALID_KERNEL;
  const cl_int error = command(command_buffer, queue, properties, kernel, dims, offset, global, local, points,
                               point_list, point, mutable_handle);
  if (error == CL_SUCCESS && p.begin_splitting()) {
    p.count_unsplit(*known(p, kernel).counters, UnsplitReason::recorded);
  }
  return error;
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace cleave::interpose
