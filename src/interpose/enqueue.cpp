// A launch, from the program's call to the driver's: ask what may be split and into how many slices, cut,
// carry it out, remember the event. Whatever is in doubt on the way goes on whole, and the reason is counted.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/log.h"
#include "interpose/callback_scope.h"
#include "interpose/facts.h"
#include "interpose/lessons.h"
#include "interpose/local_size.h"
#include "interpose/overrides.h"
#include "interpose/process.h"
#include "interpose/risks.h"
#include "interpose/wait.h"
#include "launch/launch.h"
#include "launch/pipeline.h"
#include "plan/mode.h"

namespace cleave::interpose {
namespace {

using plan::Decision;
using plan::Whole;

// The program's call as it came.
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
  Timers::Start start;           // for launches that are measured
  LaunchTrace* trace = nullptr;  // null where nobody wants one

  [[nodiscard]] cl_int hand_on(const Table& next) const {
    return next.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, waits, wait_list, event);
  }

  // Whether the sizes and the list can be looked at; if not, the driver has an error for them.
  [[nodiscard]] bool is_sound() const {
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

const Table& below(const Process& p, const Call& call) {
  return call.trace != nullptr ? call.trace->table() : p.next;
}

cl_int stay_whole(Process& p, const Call& call, const KernelRecord& kernel, Whole why) {
  const Passage passage(p.gates.of(call.queue));
  const cl_int error = call.hand_on(below(p, call));
  if (error == CL_SUCCESS) p.count_whole(*kernel.counters, why);
  if (error == CL_SUCCESS && call.trace != nullptr) call.trace->whole(why);
  return error;
}

void note(Process& p, const Call& call, const QueueRecord& queue, const Ticket& ticket) {
  note_launch(p,
              {.queue = call.queue,
               .profiling = queue.profiling,
               .waits = call.waits != 0,
               .start = call.start,
               .event = call.event != nullptr ? *call.event : nullptr},
              ticket);
}

// Whole, but measured: `key` is what its time is reported for.
cl_int stay_whole_measured(Process& p, const Call& call, const KernelRecord& kernel, const QueueRecord& queue,
                           const Told& told) {
  const cl_int error = stay_whole(p, call, kernel, *told.whole);
  if (error == CL_SUCCESS) {
    note(p, call, queue, {told.key, 1});
  }
  return error;
}

// The driver is asked with the whole launch whether it takes smaller work-groups; its answer holds from then
// on.
cl_int stay_whole_for_its_shape(Process& p, const Call& call, const KernelRecord& kernel,
                                cl_device_id device) {
  const cl_int error = stay_whole(p, call, kernel, Whole::shape);
  if (error == CL_SUCCESS && is_uneven(call)) {
    p.kernels.update(call.kernel, [&](KernelRecord& record) { record.uneven_accepted = device; });
  }
  return error;
}

plan::Way way_for(const Process& p, const KernelRecord& kernel, const QueueRecord& queue,
                  const plan::NDRange& range, std::size_t slices) {
  constexpr unsigned kMostStalls = 3;
  const plan::Moment moment{.user_event_pending = !p.pending.empty(),
                            .stalls = queue.stalls >= kMostStalls,
                            .in_callback = CallbackScope::inside(),
                            .has_twins = queue.twin.has_value()};
  return plan::choose_way(p.settings().launch, kernel.facts, queue.facts, range, slices, moment);
}

// Gives the program its event, with those of the slices beside it with which the launch began.
void hand_event(Process& p, const Call& call, launch::Outcome& outcome, std::span<launch::Lane> lanes) {
  if (call.event == nullptr) return;
  *call.event = outcome.last.release();
  EventRecord record;
  std::size_t count = 0;
  record.firsts[count++] = outcome.first.release();
  for (launch::Lane& lane : lanes) {  // a helper's own may also be the newest there, so it keeps that
    const cl_event first = lane.first.get();
    if (first != nullptr && p.next.clRetainEvent(first) == CL_SUCCESS) record.firsts[count++] = first;
  }
  try {
    p.events.add(*call.event, record);
  } catch (...) {  // out of memory: the event is right all the same, but begins with its last slice
    for (std::size_t i = 0; i < count; ++i) p.next.clReleaseEvent(record.firsts[i]);
  }
}

bool is_among(const std::vector<cl_device_id>& devices, cl_device_id device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

// Whether slices of this kernel can tell it of the whole launch. The driver is not tried out here: this may
// be a callback, or the device busy.
bool carries_tags(Process& p, const KernelRecord& kernel, cl_device_id device) {
  if (!kernel.trusted && !(kernel.tagged && is_among(*kernel.tagged, device))) return false;
  const auto facts = p.drivers.known(device);
  return facts && facts->tags;
}

// The one launch that a kernel with the prelude would misread: an offset in the third dimension that reaches
// it as a negative number.
bool looks_tagged(Process& p, const Call& call, const KernelRecord& kernel) {
  if (call.dims != 3 || call.offset == nullptr || !kernel.may_be_dressed) return false;
  constexpr std::size_t kWide = std::numeric_limits<std::int64_t>::max();
  const bool narrow = ((call.offset[2] >> 31U) & 1U) != 0;
  const bool wide = call.offset[2] + call.global[2] - 1 > kWide;
  if (!narrow && !wide) return false;
  const auto queue = ask_queue(p, call.queue);
  if (!queue) return false;
  const auto facts = p.drivers.known(queue->device);
  return !facts || (facts->narrow ? narrow : wide);
}

cl_int refuse() {
  base::say("an offset of 2^31 or more in the third dimension of a launch was refused: set CLEAVE_DISABLE=1");
  return CL_INVALID_GLOBAL_OFFSET;
}

bool flush(cl_command_queue queue) noexcept { return flush_if_known(process(), queue); }

// Carries the launch out in the way that was chosen, or over one queue where there are no helpers for it;
// `way` says which it was.
launch::Outcome carry_out(Process& p, const Table& next, const launch::Launch& launch, const plan::Cut& cut,
                          const QueueRecord& queue, plan::Way& way, HelperQueues::Loan& loan) {
  if (way.mode == plan::Mode::pipelined) {
    if (!queue.has_helpers)
      p.queues.update(launch.queue, [](QueueRecord& record) { record.has_helpers = true; });
    p.helpers.borrow(loan, launch.queue, *queue.twin, queue.in_order, way.queues - 1);
    if (!loan.lanes().empty()) {
      launch::Outcome outcome = launch::pipeline(next, p.clock, launch, cut, loan.lanes());
      if (!outcome.refused) return outcome;
    }
    const bool busy = loan.lanes().empty() && !loan.refused();
    way = plan::Way::queue(busy ? plan::Queued::busy : plan::Queued::refused);
  }
  return launch::carry_out(next, p.clock, launch, cut, way.mode);
}

cl_int split(Process& p, const Call& call, const KernelRecord& kernel, const QueueRecord& queue,
             const plan::NDRange& range, std::size_t slices, learn::Key key) {
  Gate* const gate = queue.in_order ? &p.gates.of(call.queue) : nullptr;
  const Closure closure(gate);
  if (gate != nullptr && !closure.closed()) return stay_whole(p, call, kernel, Whole::shared);
  const plan::Cut cut(range, slices, plan::order_of(kernel.facts));
  const bool tagged = kernel.facts.source == plan::Kernel::Source::tagged;
  const launch::Launch launch{.queue = call.queue,
                              .kernel = call.kernel,
                              .range = range,
                              .tag = tagged ? plan::Tag::of(range, cut) : std::nullopt,
                              .waits = call.waits,
                              .wait_list = call.wait_list,
                              .wants_event = call.event != nullptr,
                              .in_order = queue.in_order,
                              .flush = flush,
                              .haste = gate != nullptr ? &gate->waiting() : nullptr};
  plan::Way way = way_for(p, kernel, queue, range, cut.count());
  HelperQueues::Loan loan(p.helpers);
  if (call.trace != nullptr && way.mode == plan::Mode::sequential) call.trace->paced();
  launch::Outcome outcome = carry_out(p, below(p, call), launch, cut, queue, way, loan);
  // Nothing has run yet: the whole launch has the answer that the program would have had without us.
  if (outcome.slices == 0) return stay_whole(p, call, kernel, Whole::shape);
  p.count_split(*kernel.counters, outcome.slices, outcome.added, way);
  if (call.trace != nullptr) [[unlikely]]
    call.trace->split(outcome.slices, way);
  if (way.mode == plan::Mode::sequential && (outcome.stalled || queue.stalls != 0)) {
    p.queues.update(call.queue,
                    [&](QueueRecord& record) { record.stalls = outcome.stalled ? record.stalls + 1 : 0; });
  }
  if (outcome.error == CL_SUCCESS) {
    hand_event(p, call, outcome, loan.lanes());
    note(p, call, queue, {key, outcome.slices});
  }
  return outcome.error;
}

KernelRecord known(Process& p, cl_kernel kernel) {
  return p.kernels.find(kernel).value_or(KernelRecord{.facts = {},
                                                      .counters = &p.unknown,
                                                      .uneven_accepted = nullptr,
                                                      .tagged = {},
                                                      .trusted = false,
                                                      .may_be_dressed = false,
                                                      .keeps = false,
                                                      .identity = 0,
                                                      .name = {}});
}

cl_int enqueue(Process& p, const Call& call) {
  const KernelRecord kernel = known(p, call.kernel);
  if (looks_tagged(p, call, kernel)) return refuse();
  // What needs no look at the queue comes first: most launches that stay whole are done with that.
  plan::NDRange range = call.range();
  const std::size_t items = plan::items(range.global);
  const Decision early =
      plan::wanted(p.settings(), kernel.facts, plan::Device{.cores = 0}, items, p.neighbours.vms());
  if (early.whole) return stay_whole(p, call, kernel, *early.whole);

  auto queue = p.queues.find(call.queue);
  if (!queue) queue = ask_queue(p, call.queue);
  if (queue && queue->remote) return stay_whole(p, call, kernel, Whole::remote);
  if (!queue || !queue->plain || is_risky(p, *queue, {call.wait_list, call.waits}))
    return stay_whole(p, call, kernel, Whole::shape);
  const Decision wanted = plan::wanted(p.settings(), kernel.facts, queue->facts, items, p.neighbours.vms());
  if (wanted.whole) return stay_whole(p, call, kernel, *wanted.whole);
  const bool needs_tags = kernel.facts.source == plan::Kernel::Source::tagged;
  if ((needs_tags && !carries_tags(p, kernel, queue->device)) || (queue->copies_variables && kernel.keeps))
    return stay_whole(p, call, kernel, Whole::kernel);

  if (items == 1) return stay_whole(p, call, kernel, Whole::one_group);
  if (call.local == nullptr) {
    const auto local = explicit_local_size(p, *queue, call.queue, call.kernel, kernel.facts.sees_groups,
                                           range, wanted.slices);
    if (!local) return stay_whole(p, call, kernel, Whole::shape);
    range.local = *local;
  }
  const Decision filling = plan::filling(p.settings(), kernel.facts, queue->facts, range, wanted.slices);
  if (filling.whole) return stay_whole(p, call, kernel, *filling.whole);
  const auto settle = [&](std::size_t slices) {
    return plan::settle(range, kernel.facts, queue->facts, slices, kernel.uneven_accepted == queue->device);
  };
  Decision settled = settle(filling.slices);
  Told told{.slices = filling.slices, .whole = {}, .key = 0};
  if (!settled.whole && p.settings().policy.learns()) {
    told = ask_lessons(p, kernel, *queue, range, filling.slices);
    if (told.whole) return stay_whole_measured(p, call, kernel, *queue, told);
    settled = settle(told.slices);
  }
  if (settled.whole == Whole::shape) return stay_whole_for_its_shape(p, call, kernel, queue->device);
  if (settled.whole) return stay_whole(p, call, kernel, *settled.whole);
  if (told.key != 0 && settled.slices < told.slices) p.lessons.cap(told.key, settled.slices);
  return split(p, call, kernel, *queue, range, settled.slices, told.key);
}

inline cl_int enqueue_any(Process& p, const Call& call) {
  if (call.is_sound()) return enqueue(p, call);
  const Passage passage(p.gates.of(call.queue));
  return call.hand_on(p.next);
}

// Not inlined, so that a launch without a trace has nothing of it.
[[gnu::noinline]] cl_int enqueue_traced(Process& p, Call call) {
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

[[gnu::noinline]] cl_int enqueue_task_traced(Process& p, cl_command_queue queue, cl_kernel kernel,
                                             cl_uint waits, const cl_event* wait_list, cl_event* event) {
  LaunchTrace trace(*p.trace, {.function = "clEnqueueTask",
                               .queue = queue,
                               .kernel = kernel,
                               .dims = 0,
                               .global = nullptr,
                               .local = nullptr});
  const Passage passage(p.gates.of(queue));
  const cl_int error = p.next.clEnqueueTask(queue, kernel, waits, wait_list, event);
  if (error == CL_SUCCESS) p.count_whole(*known(p, kernel).counters, Whole::one_group);
  if (error == CL_SUCCESS) trace.whole(Whole::one_group);
  trace.end(error, error == CL_SUCCESS && event != nullptr ? *event : nullptr);
  return error;
}

using Command = cl_int(CL_API_CALL*)(void*, cl_command_queue, const void*, cl_kernel, cl_uint, const size_t*,
                                     const size_t*, const size_t*, cl_uint, const cl_uint*, cl_uint*, void*);

// The driver's own function. The program got ours in its place, so a platform has it: the kernel's.
Command find_command(const Table& next, cl_kernel kernel) {
  cl_context context = nullptr;
  cl_uint count = 0;
  next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(cl_context), &context, nullptr);
  next.clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof count, &count, nullptr);
  std::vector<cl_device_id> devices(count);
  next.clGetContextInfo(context, CL_CONTEXT_DEVICES, count * sizeof(cl_device_id), devices.data(), nullptr);
  cl_platform_id platform = nullptr;
  if (devices.empty() || next.clGetDeviceInfo(devices[0], CL_DEVICE_PLATFORM, sizeof(cl_platform_id),
                                              &platform, nullptr) != CL_SUCCESS) {
    return nullptr;
  }
  return reinterpret_cast<Command>(
      next.clGetExtensionFunctionAddressForPlatform(platform, "clCommandNDRangeKernelKHR"));
}

}  // namespace

cl_int CL_API_CALL enqueue_nd_range_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                           const size_t* offset, const size_t* global, const size_t* local,
                                           cl_uint waits, const cl_event* wait_list,
                                           cl_event* event) noexcept {
  Process& p = process();
  const Timers::Start start = p.timers.begin(queue, p.clock);
  const Call call{queue, kernel, dims, offset, global, local, waits, wait_list, event, start};
  if (!p.in_charge()) return call.hand_on(p.next);
  p.waits.of(queue).note_work();
  if (p.trace) [[unlikely]]
    return enqueue_traced(p, call);
  return enqueue_any(p, call);
}

// A task is a launch of one work-item.
cl_int CL_API_CALL enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
                                const cl_event* wait_list, cl_event* event) noexcept {
  Process& p = process();
  p.waits.of(queue).note_work();
  p.timers.begin(queue, p.clock);
  if (p.trace && p.in_charge()) return enqueue_task_traced(p, queue, kernel, waits, wait_list, event);
  const Passage passage(p.gates.of(queue));
  const cl_int error = p.next.clEnqueueTask(queue, kernel, waits, wait_list, event);
  if (error == CL_SUCCESS && p.in_charge()) {
    p.count_whole(*known(p, kernel).counters, Whole::one_group);
  }
  return error;
}

// A command buffer records the launch as it is; it may be changed and run many times later.
cl_int CL_API_CALL command_nd_range_kernel_khr(void* command_buffer, cl_command_queue queue,
                                               const void* properties, cl_kernel kernel, cl_uint dims,
                                               const size_t* offset, const size_t* global,
                                               const size_t* local, cl_uint points, const cl_uint* point_list,
                                               cl_uint* point, void* mutable_handle) noexcept try {
  Process& p = process();
  const Command command = find_command(p.next, kernel);
  if (command == nullptr) return CL_INVALID_KERNEL;
  const cl_int error = command(command_buffer, queue, properties, kernel, dims, offset, global, local, points,
                               point_list, point, mutable_handle);
  if (error == CL_SUCCESS && p.in_charge()) {
    p.count_whole(*known(p, kernel).counters, Whole::recorded);
  }
  return error;
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace cleave::interpose
