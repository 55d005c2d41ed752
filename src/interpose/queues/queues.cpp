// Queues: their device, their order, and how to create helpers like them.

#include <algorithm>

#include "interpose/calls/overrides.h"
#include "interpose/drivers/device_queries.h"
#include "interpose/interposer.h"

namespace cleave::interpose {
namespace {

// Whether queues of this device may have helpers. Sub-devices count their references.
bool allows_helpers(base::LaunchMode mode, cl_device_id device, const DeviceFacts& facts) noexcept {
  if (mode == base::LaunchMode::queued || mode == base::LaunchMode::sequential) return false;
  return facts.root == device && !facts.lacks_markers;
}

// Empty if a property's meaning for a second queue is unknown.
std::optional<QueueTemplate> template_of(cl_context context, cl_device_id device,
                                         const cl_queue_properties* properties) {
  QueueTemplate queue_template{.context = context, .device = device, .with_properties = true};
  for (; properties != nullptr && *properties != 0; properties += 2) {
    if (properties[0] == CL_QUEUE_PROPERTIES) {
      queue_template.profiling = (properties[1] & CL_QUEUE_PROFILING_ENABLE) != 0;
    } else if (properties[0] == kPriority) {
      queue_template.priority = properties[1];
    } else if (properties[0] == kThrottle) {
      queue_template.throttle = properties[1];
    } else {
      return std::nullopt;
    }
  }
  return queue_template;
}

bool has_low_priority(const cl_queue_properties* properties) {
  for (; properties != nullptr && *properties != 0; properties += 2) {
    if (properties[0] == kPriority) return properties[1] == kLowPriority;
  }
  return false;
}

cl_command_queue noted(Interposer& p, cl_command_queue queue,
                       const std::optional<QueueTemplate>& queue_template,
                       const cl_queue_properties* properties = nullptr) noexcept {
  if (queue == nullptr) return queue;
  ++p.records.changes;  // also if there is no record
  try {
    if (auto record = query_queue(p.next, p.devices, queue)) {
      const Devices::Facts facts = p.devices.of(record->device);
      if (queue_template && !record->crashes_on_several_mixed_offsets &&
          allows_helpers(p.settings().launch, record->device, *facts))
        record->queue_template = queue_template;
      record->low_priority = has_low_priority(properties);
      p.wait_statistics.of(queue).forget();
      if (p.policy->measures_launches() || p.turns.may_take_turns()) record->identity = facts->driver_id;
      if (p.policy->measures_launches()) p.launch_timers.add(queue);
      p.turns.add(*record, *facts);
      p.records.queues.add(queue, *record);
      auto& entry = p.neighbours.entry();
      if (entry.has_registry()) entry.add_device(facts->identity);
    }
  } catch (...) {  // out of memory: queues without a record are queried at each launch
  }
  return queue;
}

}  // namespace

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context context, cl_device_id device,
                                                  cl_command_queue_properties properties,
                                                  cl_int* error) noexcept {
  Interposer& p = interposer();
  const QueueTemplate queue_template{
      .context = context, .device = device, .profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0};
  return noted(p, p.next.clCreateCommandQueue(context, device, properties, error), queue_template);
}

cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                const cl_queue_properties* properties,
                                                                cl_int* error) noexcept {
  Interposer& p = interposer();
  cl_command_queue const queue =
      p.next.clCreateCommandQueueWithProperties(context, device, properties, error);
  if (queue == nullptr) return queue;
  return noted(p, queue, template_of(context, device, properties), properties);
}

// cl_khr_create_command_queue. The program got the function from us, so the device's platform has it.
cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(cl_context context, cl_device_id device,
                                                                   const cl_queue_properties* properties,
                                                                   cl_int* error) noexcept {
  using Create =
      cl_command_queue(CL_API_CALL*)(cl_context, cl_device_id, const cl_queue_properties*, cl_int*);
  Interposer& p = interposer();
  const auto create = reinterpret_cast<Create>(
      find_extension_function(p.next, p.devices, device, "clCreateCommandQueueWithPropertiesKHR"));
  if (create == nullptr) {
    if (error != nullptr) *error = CL_INVALID_DEVICE;
    return nullptr;
  }
  return noted(p, create(context, device, properties, error), std::nullopt, properties);
}

cl_int CL_API_CALL clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties,
                                             cl_bool enable, cl_command_queue_properties* old) noexcept {
  Interposer& p = interposer();
  if (const cl_int late = p.feeder.settle(queue); late != CL_SUCCESS) return late;
  const GateGuard guard(p.gates.of(queue));
  const cl_int error = p.next.clSetCommandQueueProperty(queue, properties, enable, old);
  if (const auto record = query_queue(p.next, p.devices, queue)) {
    p.records.queues.update(queue, [&](QueueRecord& known) {
      QueueRecord changed = *record;
      changed.queue_template = known.queue_template;
      changed.has_helpers = known.has_helpers;
      changed.identity = known.identity;
      changed.low_priority = known.low_priority;
      if (changed.queue_template && (properties & CL_QUEUE_PROFILING_ENABLE) != 0)
        changed.queue_template->profiling = enable != CL_FALSE;
      known = changed;
    });
    ++p.records.changes;
  }
  return error;
}

// The record is removed before the driver may reuse the address, and the helpers after the driver has flushed the
// queue, since they may wait for its commands.
cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue queue) noexcept {
  Interposer& p = interposer();
  HelperQueues::Retired retired(p.next);
  const auto last = p.records.queues.release(queue);
  if (last) p.feeder.forget(queue);
  if (last && p.trace) p.trace->queue_released(queue);
  if (last && last->has_helpers) p.helpers.queue_released(queue, retired);
  if (last) p.launch_timers.forget(queue);
  // A waiting thread may be flushing it and then releases it. The flush that a release implies is made now, before the
  // helpers are released.
  if (last && p.records.queues.is_pinned(queue)) {
    p.next.clFlush(queue);
    if (p.records.queues.defer_release(queue)) return CL_SUCCESS;
  }
  return p.next.clReleaseCommandQueue(queue);
}

// The program does not know of references held by helpers.
cl_int CL_API_CALL clGetContextInfo(cl_context context, cl_context_info name, size_t size, void* value,
                                    size_t* size_ret) noexcept {
  Interposer& p = interposer();
  const cl_int error = p.next.clGetContextInfo(context, name, size, value, size_ret);
  if (error != CL_SUCCESS || name != CL_CONTEXT_REFERENCE_COUNT || value == nullptr) return error;
  auto* const count = static_cast<cl_uint*>(value);
  *count -= std::min(*count, p.helpers.internal_references(context));
  return error;
}

}  // namespace cleave::interpose
