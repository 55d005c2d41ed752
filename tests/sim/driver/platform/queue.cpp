// Command queues: creation, properties, queries.
#include "tests/sim/driver/platform/queue.h"

#include <optional>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/info_answer.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace {

// Of cl_khr_priority_hints and cl_khr_throttle_hints (CL/cl_ext.h names them only in some versions).
constexpr cl_queue_properties priority = 0x1096;
constexpr cl_queue_properties throttle = 0x1097;

constexpr cl_command_queue_properties host_flags =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;
constexpr cl_command_queue_properties known_flags =
    host_flags | CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;

cl_command_queue make_queue(CallFrame& frame, cl_context context_handle, cl_device_id device_handle,
                            cl_command_queue_properties flags, std::vector<cl_queue_properties> properties) {
  Context& context = frame.state.get(context_handle);
  Device& device = frame.state.get(device_handle);
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

cl_command_queue create(CallFrame& frame, cl_context context, cl_device_id device,
                        cl_command_queue_properties flags) {
  return make_queue(frame, context, device, flags, {});
}

void retain(CallFrame& frame, cl_command_queue handle) { frame.state.get(handle).retain(); }

// Releasing a queue flushes it. Its commands run on and keep it until they are done.
void release(CallFrame& frame, cl_command_queue handle) {
  const auto queue = shared(frame.state.get(handle));
  frame.state.timeline.flush(*queue);
  require(queue->release(), CL_INVALID_COMMAND_QUEUE);
}

void info(CallFrame& frame, cl_command_queue handle, cl_command_queue_info name, std::size_t capacity,
          void* value, std::size_t* size) {
  const Queue& queue = frame.state.get(handle);
  const InfoAnswer answer(capacity, value, size);
  switch (name) {
    case CL_QUEUE_CONTEXT:
      return answer.value(handle_of(queue.context));
    case CL_QUEUE_DEVICE:
      return answer.value(handle_of(queue.device));
    case CL_QUEUE_REFERENCE_COUNT:
      return answer.value(queue.references());
    case CL_QUEUE_PROPERTIES:
      return answer.value(queue.flags);
    case CL_QUEUE_PROPERTIES_ARRAY:
      return answer.list(queue.properties);
    case CL_QUEUE_DEVICE_DEFAULT:
      return answer.value(cl_command_queue{});
    default:
      throw Error{CL_INVALID_VALUE};  // CL_QUEUE_SIZE is for queues on the device, which there are none of
  }
}

void set_property(CallFrame& frame, cl_command_queue handle, cl_command_queue_properties flags,
                  cl_bool enable, cl_command_queue_properties* old) {
  Queue& queue = frame.state.get(handle);
  require((flags & ~known_flags) == 0, CL_INVALID_VALUE);
  require((flags & ~host_flags) == 0, CL_INVALID_QUEUE_PROPERTIES);
  if (old != nullptr) *old = queue.flags;
  queue.flags = enable != CL_FALSE ? queue.flags | flags : queue.flags & ~flags;
}

}  // namespace

cl_command_queue create_queue_with_properties(CallFrame& frame, cl_context context, cl_device_id device,
                                              const cl_queue_properties* properties) {
  cl_command_queue_properties flags = 0;
  auto list = property_list(properties);
  for (std::size_t i = 0; i + 1 < list.size(); i += 2) {
    const bool hint = frame.state.options.queue_hints && (list[i] == priority || list[i] == throttle);
    require(list[i] == CL_QUEUE_PROPERTIES || list[i] == CL_QUEUE_SIZE || hint, CL_INVALID_VALUE);
    if (list[i] == CL_QUEUE_PROPERTIES) flags = list[i + 1];
    if (frame.wants_text()) frame.note(std::to_string(list[i]) + '=' + std::to_string(list[i + 1]));
  }
  return make_queue(frame, context, device, flags, std::move(list));
}

void add_queue_functions(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateCommandQueue, create);
  SIM_IMPLEMENT(clCreateCommandQueueWithProperties, create_queue_with_properties);
  SIM_IMPLEMENT(clRetainCommandQueue, retain);
  SIM_IMPLEMENT(clReleaseCommandQueue, release);
  SIM_IMPLEMENT(clGetCommandQueueInfo, info);
  SIM_IMPLEMENT(clSetCommandQueueProperty, set_property);
}

}  // namespace cleave::sim
