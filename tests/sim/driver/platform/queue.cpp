// Command queues: creation, properties, queries.
#include "tests/sim/driver/platform/queue.h"

#include <optional>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace queue_functions {

// Of cl_khr_priority_hints and cl_khr_throttle_hints (CL/cl_ext.h names them only in some versions).
constexpr cl_queue_properties priority = 0x1096;
constexpr cl_queue_properties throttle = 0x1097;

constexpr cl_command_queue_properties host_flags =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
constexpr cl_command_queue_properties known_flags =
    host_flags | CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

cl_command_queue make_queue(CallFrame& frame, Context& context, Device& device,
                            cl_command_queue_properties flags, std::vector<cl_queue_properties> properties) {
  require(context.has(device), CL_INVALID_DEVICE);
  require((flags & ~known_flags) == 0, CL_INVALID_VALUE);
  const bool possible = (flags & ~host_flags) == 0 && (frame.state.options.out_of_order ||
                                                       (flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0);
  require(possible, CL_INVALID_QUEUE_PROPERTIES);
  auto queue = frame.state.make<Queue>();
  queue->context = shared(context);
  ++context.queues;
  queue->device = shared(device);
  queue->flags = flags;
  queue->properties = std::move(properties);
  return handle_of(queue);
}

cl_command_queue create(CallFrame& frame, Context& context, Device& device,
                        cl_command_queue_properties flags) {
  return make_queue(frame, context, device, flags, {});
}

// Releasing a queue flushes it. Its commands run on and keep it until they are done.
void release_queue(CallFrame& frame, Queue& queue) {
  const auto held = shared(queue);
  frame.state.timeline.flush(queue);
  require(queue.release(), CL_INVALID_COMMAND_QUEUE);
}

constexpr InfoRow<Queue> queue_rows[] = {
    {CL_QUEUE_CONTEXT, [](const Queue& queue) { return handle_of(queue.context); }},
    {CL_QUEUE_DEVICE, [](const Queue& queue) { return handle_of(queue.device); }},
    {CL_QUEUE_REFERENCE_COUNT, [](const Queue& queue) { return queue.references(); }},
    {CL_QUEUE_PROPERTIES, [](const Queue& queue) { return queue.flags; }},
    {CL_QUEUE_PROPERTIES_ARRAY, [](const Queue& queue) { return queue.properties; }},
    {CL_QUEUE_DEVICE_DEFAULT, [](const Queue&) { return cl_command_queue{}; }},
};

void set_property(CallFrame&, Queue& queue, cl_command_queue_properties flags, cl_bool enable,
                  cl_command_queue_properties* old) {
  require((flags & ~known_flags) == 0, CL_INVALID_VALUE);
  require((flags & ~host_flags) == 0, CL_INVALID_QUEUE_PROPERTIES);
  if (old != nullptr) *old = queue.flags;
  queue.flags = enable != CL_FALSE ? queue.flags | flags : queue.flags & ~flags;
}

}  // namespace queue_functions

cl_command_queue create_queue_with_properties(CallFrame& frame, Context& context, Device& device,
                                              const cl_queue_properties* properties) {
  cl_command_queue_properties flags = 0;
  auto list = property_list(properties);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    const bool hint = frame.state.options.queue_hints &&
                      (list[i] == queue_functions::priority || list[i] == queue_functions::throttle);
    require(list[i] == CL_QUEUE_PROPERTIES || list[i] == CL_QUEUE_SIZE || hint, CL_INVALID_VALUE);
    if (list[i] == CL_QUEUE_PROPERTIES) flags = list[i + 1];
    if (frame.wants_text()) frame.note(std::to_string(list[i]) + '=' + std::to_string(list[i + 1]));
  }
  return queue_functions::make_queue(frame, context, device, flags, std::move(list));
}

void queue_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateCommandQueue, create);
  SIM_IMPLEMENT(clCreateCommandQueueWithProperties, create_queue_with_properties);
  SIM_IMPLEMENT(clRetainCommandQueue, retain<Queue>);
  SIM_IMPLEMENT(clReleaseCommandQueue, release_queue);
  SIM_IMPLEMENT(clGetCommandQueueInfo, answer_from<Queue, queue_rows>);
  SIM_IMPLEMENT(clSetCommandQueueProperty, set_property);
}

}  // namespace cleave::sim
