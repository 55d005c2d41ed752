// Launches of kernels: clEnqueueNDRangeKernel, clEnqueueTask, clEnqueueNativeKernel.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/commands/launch_shape.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/execution.h"
#include "tests/sim/driver/programs/kernel_arguments.h"

namespace cleave::sim {
namespace launch_functions {

std::string text_of_size(const Size3& size) {
  return '(' + std::to_string(size[0]) + ',' + std::to_string(size[1]) + ',' + std::to_string(size[2]) + ')';
}

void note_shape(CallFrame& frame, const Launch& launch) {
  if (!frame.wants_text()) return;
  frame.note(launch.kernel + " offset=" + text_of_size(launch.offset) +
             " global=" + text_of_size(launch.global) + " local=" + text_of_size(launch.local) +
             (launch.null_local ? " (driver's choice)" : ""));
}

// Some devices keep only the low bits of an offset and extend the sign of what is left.
Size3 offset_on_device(const Size3& offset, unsigned bits) {
  if (bits >= 64) return offset;
  Size3 kept{};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto up = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset[d]) << (64 - bits));
    kept[d] = static_cast<std::size_t>(up >> (64 - bits));
  }
  return kept;
}

Nanoseconds duration_of(const DriverState& state, const Launch& launch) {
  const auto cost = state.costs.find(launch.kernel);
  if (cost != state.costs.end()) return cost->second(launch);
  return state.options.per_launch + state.options.per_item * static_cast<std::int64_t>(launch.items());
}

// What the kernel does. The captured arguments hold the memory objects while it is in flight.
void execute(const DriverState& state, const Launch& launch, const CapturedArguments& arguments) {
  const auto body = state.bodies.find(launch.kernel);
  if (body == state.bodies.end()) return;
  Execution execution(launch, offset_on_device(launch.offset, state.options.offset_bits),
                      storage_of(state, arguments));
  body->second(execution);
}

void enqueue_launch(CallFrame& frame, cl_command_queue queue_handle, cl_kernel kernel_handle,
                    const RangeArguments& range, cl_command_type type, WaitListArguments wait_list) {
  DriverState& state = frame.state;
  Queue& queue = state.get(queue_handle);
  const Kernel& kernel = state.get(kernel_handle);
  require(kernel.program->context == queue.context, CL_INVALID_CONTEXT);
  require(kernel.program->executable(), CL_INVALID_PROGRAM_EXECUTABLE);
  auto arguments = std::make_shared<CapturedArguments>(capture(kernel));
  const auto null_rule =
      state.options.required_size_refuses_null ? ReqdWithNull::refuses : ReqdWithNull::uses_it;
  auto launch = std::make_shared<Launch>(launch_shape(kernel, range, null_rule));
  launch->id = state.record.next_launch();
  launch->queue = queue.id;
  launch->kernel_id = kernel.id;
  launch->kernel = kernel.signature.name;
  launch->arguments = arguments->values;
  launch->thread = std::this_thread::get_id();
  note_shape(frame, *launch);

  CommandSpec spec{
      type,
      [&state, launch, arguments, held = kernel.shared_from_this()] { execute(state, *launch, *arguments); },
      [&state, launch] { return duration_of(state, *launch); }};
  spec.launch = launch;
  enqueue(frame, queue, std::move(spec), wait_list);
}

void enqueue_range(CallFrame& frame, cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                   const std::size_t* offset, const std::size_t* global, const std::size_t* local,
                   WaitListArguments wait_list) {
  enqueue_launch(frame, queue, kernel, {dims, offset, global, local}, CL_COMMAND_NDRANGE_KERNEL, wait_list);
}

void enqueue_task(CallFrame& frame, cl_command_queue queue, cl_kernel kernel, WaitListArguments wait_list) {
  const std::size_t one = 1;
  enqueue_launch(frame, queue, kernel, {1, nullptr, &one, &one}, CL_COMMAND_TASK, wait_list);
}

// The copy of the program's arguments has the memory objects' addresses in place of their handles.
void enqueue_native(CallFrame& frame, Queue& queue, void(CL_CALLBACK* function)(void*), void* arguments,
                    std::size_t size, cl_uint objects, const cl_mem* list, const void** places,
                    WaitListArguments wait_list) {
  require(function != nullptr, CL_INVALID_VALUE);
  require((arguments == nullptr) == (size == 0), CL_INVALID_VALUE);
  require(arguments != nullptr || objects == 0, CL_INVALID_VALUE);
  require((objects == 0) == (list == nullptr) && (objects == 0) == (places == nullptr), CL_INVALID_VALUE);
  const auto* first = static_cast<const std::byte*>(arguments);
  auto copy = std::make_shared<std::vector<std::byte>>(first, first + size);
  std::vector<std::shared_ptr<Memory>> held;
  for (cl_uint i = 0; i < objects; ++i) {
    Memory& memory = frame.state.get(list[i]);
    const auto at = static_cast<std::size_t>(static_cast<const std::byte*>(places[i]) - first);
    require(at + sizeof(void*) <= size, CL_INVALID_VALUE);
    std::memcpy(copy->data() + at, &memory.data, sizeof(void*));
    held.push_back(shared(memory));
  }
  CommandSpec spec{CL_COMMAND_NATIVE_KERNEL, [function, copy, held] { function(copy->data()); },
                   [&state = frame.state] { return state.options.per_launch; }};
  enqueue(frame, queue, std::move(spec), wait_list);
}

}  // namespace launch_functions

void launch_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueNDRangeKernel, enqueue_range);
  SIM_IMPLEMENT(clEnqueueTask, enqueue_task);
  SIM_IMPLEMENT(clEnqueueNativeKernel, enqueue_native);
}

}  // namespace cleave::sim
