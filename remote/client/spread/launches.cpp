// Launches, and what only has its place among them: markers and barriers.
#include "remote/client/spread/api.h"
#include "remote/client/spread/turn.h"

namespace cleave::remote::client::spread {
namespace {

// The kernel's part on the queue's server, whose arguments the launch uses; null, and `turn.error` says why.
cl_kernel use_kernel(Turn& turn, cl_kernel handle) {
  if (turn.error != CL_SUCCESS) return nullptr;
  const Object* const object = find(handle);
  if (object == nullptr) return turn.error = CL_INVALID_KERNEL, nullptr;
  const bool is_ours = is_spread(*object) &&
                       body_of<ProgramBody>(*body_of<KernelBody>(*object).program).context == &turn.context();
  if (!is_ours) return turn.error = CL_INVALID_CONTEXT, nullptr;
  const WholeKernel& kernel = body_of<WholeKernel>(*object);
  const cl_kernel part = kernel.parts[turn.part()];
  if (part == nullptr) return turn.error = CL_INVALID_PROGRAM_EXECUTABLE, nullptr;
  for (const WholeKernel::Argument& one : kernel.arguments) {
    if (one.contents != nullptr) turn.use(one.contents, access_of_argument(one.may_write, one.flags));
  }
  return part;
}

}  // namespace

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                          const size_t* offset, const size_t* global, const size_t* local,
                                          cl_uint waits, const cl_event* wait_list, cl_event* event) {
  Turn turn({queue, waits, wait_list, event});
  const cl_kernel here = use_kernel(turn, kernel);
  return turn.run([&](const Waits& w) {
    return client::clEnqueueNDRangeKernel(queue, here, dims, offset, global, local, w.count, w.list, w.event);
  });
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint waits,
                                 const cl_event* wait_list, cl_event* event) {
  Turn turn({queue, waits, wait_list, event});
  const cl_kernel here = use_kernel(turn, kernel);
  return turn.run(
      [&](const Waits& w) { return client::clEnqueueTask(queue, here, w.count, w.list, w.event); });
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint waits,
                                               const cl_event* wait_list, cl_event* event) {
  Turn turn({queue, waits, wait_list, event}, Entry::Kind::marker);
  return turn.run(
      [&](const Waits& w) { return client::clEnqueueMarkerWithWaitList(queue, w.count, w.list, w.event); });
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint waits,
                                                const cl_event* wait_list, cl_event* event) {
  Turn turn({queue, waits, wait_list, event}, Entry::Kind::barrier);
  return turn.run(
      [&](const Waits& w) { return client::clEnqueueBarrierWithWaitList(queue, w.count, w.list, w.event); });
}

cl_int CL_API_CALL clEnqueueMarker(cl_command_queue queue, cl_event* event) {
  if (event == nullptr) return CL_INVALID_VALUE;
  Turn turn({queue, 0, nullptr, event}, Entry::Kind::marker);
  return turn.run([&](const Waits& w) { return client::clEnqueueMarker(queue, w.event); });
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue queue) {
  return spread::clEnqueueBarrierWithWaitList(queue, 0, nullptr, nullptr);
}

cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* list) {
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  const cl_int error = spread::clEnqueueBarrierWithWaitList(queue, count, list, nullptr);
  return error == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : error;
}

}  // namespace cleave::remote::client::spread
