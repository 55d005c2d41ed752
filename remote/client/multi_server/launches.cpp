// Launches, markers and barriers.
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/queued_command.h"

namespace cleave::remote::client::multi_server {
namespace {

// The kernel's shard on the queue's server; records the use of its arguments. Null: `command.error` says why.
cl_kernel use_kernel(QueuedCommand& command, cl_kernel handle) {
  if (command.error != CL_SUCCESS) return nullptr;
  const Object* const object = find(handle);
  if (object == nullptr) return command.error = CL_INVALID_KERNEL, nullptr;
  const bool is_ours =
      is_multi_server(*object) &&
      state_of<ProgramState>(*state_of<KernelState>(*object).program).context == &command.context();
  if (!is_ours) return command.error = CL_INVALID_CONTEXT, nullptr;
  const CompositeKernel& kernel = state_of<CompositeKernel>(*object);
  const cl_kernel shard = kernel.shards[command.shard()];
  if (shard == nullptr) return command.error = CL_INVALID_PROGRAM_EXECUTABLE, nullptr;
  for (const CompositeKernel::Argument& one : kernel.arguments) {
    if (one.coherence != nullptr) command.use(one.coherence, access_of_argument(one.may_write, one.flags));
  }
  return shard;
}

}  // namespace

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                          const size_t* offset, const size_t* global, const size_t* local,
                                          cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_kernel here = use_kernel(command, kernel);
  return command.run([&](auto... wait) {
    return client::clEnqueueNDRangeKernel(queue, here, dims, offset, global, local, wait...);
  });
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count,
                                 const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_kernel here = use_kernel(command, kernel);
  return command.run([&](auto... wait) { return client::clEnqueueTask(queue, here, wait...); });
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint wait_count,
                                               const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event}, OrderedCommand::Kind::marker);
  return command.run([&](auto... wait) { return client::clEnqueueMarkerWithWaitList(queue, wait...); });
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint wait_count,
                                                const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event}, OrderedCommand::Kind::barrier);
  return command.run([&](auto... wait) { return client::clEnqueueBarrierWithWaitList(queue, wait...); });
}

cl_int CL_API_CALL clEnqueueMarker(cl_command_queue queue, cl_event* event) {
  if (event == nullptr) return CL_INVALID_VALUE;
  QueuedCommand command({queue, 0, nullptr, event}, OrderedCommand::Kind::marker);
  return command.run(
      [&](cl_uint, const cl_event*, cl_event* made) { return client::clEnqueueMarker(queue, made); });
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue queue) {
  return multi_server::clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr);
}

cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* list) {
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  const cl_int error = multi_server::clEnqueueBarrierWithWaitList(queue, count, list, nullptr);
  return error == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : error;
}

}  // namespace cleave::remote::client::multi_server
