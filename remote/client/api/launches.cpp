// Launches. The first launch of a shape waits until the driver has accepted or refused it (not until it has run), so that
// the program gets the driver's own error. Later ones of that shape are sent without an answer.
#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/api/command.h"
#include "remote/client/link/info_query.h"
#include "remote/client/link/wire_types.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

constexpr std::size_t kMaxAcceptedShapes = 64;

struct Sizes {
  cl_uint dims;
  const size_t* offset;
  const size_t* global;
  const size_t* local;
};

// Whether everything that a launch depends on besides its shape is certainly valid.
bool is_certainly_valid(const KernelState& kernel, const DeviceState& device, const Sizes& sizes) {
  if (sizes.dims < 1 || sizes.dims > std::min<std::size_t>(3, device.max_dimensions) ||
      sizes.global == nullptr)
    return false;
  if (std::find(kernel.set.begin(), kernel.set.end(), false) != kernel.set.end()) return false;
  for (cl_uint d = 0; d < sizes.dims; ++d) {
    constexpr std::size_t kMaxSize = std::size_t{1} << 31U;
    if (sizes.global[d] == 0 || sizes.global[d] >= kMaxSize) return false;
    if (sizes.offset != nullptr && sizes.offset[d] >= kMaxSize) return false;
    if (sizes.local != nullptr && sizes.local[d] == 0) return false;
  }
  return true;
}

LaunchShape shape_of(Id device, const Sizes& sizes) {
  LaunchShape shape{.device = device, .dimensions = sizes.dims, .has_local = sizes.local != nullptr};
  for (cl_uint d = 0; sizes.local != nullptr && d < sizes.dims; ++d) {
    shape.local[d] = sizes.local[d];
    shape.uniform &= sizes.global[d] % sizes.local[d] == 0;
  }
  return shape;
}

bool is_accepted(KernelState& kernel, const LaunchShape& shape) {
  const base::MutexLock lock(kernel.mutex);
  return std::find(kernel.accepted.begin(), kernel.accepted.end(), shape) != kernel.accepted.end();
}

void remember_accepted(KernelState& kernel, const LaunchShape& shape) {
  const base::MutexLock lock(kernel.mutex);
  if (kernel.accepted.size() >= kMaxAcceptedShapes) kernel.accepted.erase(kernel.accepted.begin());
  kernel.accepted.push_back(shape);
}

cl_int launch(Command& command, cl_kernel handle, const Sizes& sizes) {
  KernelState* const kernel = find_state(handle);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (state_of<ProgramState>(*kernel->program).context != command.queue().context) return CL_INVALID_CONTEXT;
  if (sizes.dims < 1 || sizes.dims > 3) return CL_INVALID_WORK_DIMENSION;
  const DeviceState& device = state_of<DeviceState>(*command.queue().device);
  const auto make = [&](auto& b) {
    wire::Size3 offset;
    wire::Size3 local;
    wire::Size3 global;
    if (sizes.global != nullptr) global = size3(sizes.global, sizes.dims);
    if (sizes.offset != nullptr) offset = size3(sizes.offset, sizes.dims);
    if (sizes.local != nullptr) local = size3(sizes.local, sizes.dims);
    return wire::CreateNDRange(b, kernel->id, sizes.dims, sizes.offset == nullptr ? nullptr : &offset,
                               sizes.global == nullptr ? nullptr : &global,
                               sizes.local == nullptr ? nullptr : &local);
  };
  const bool is_valid = is_certainly_valid(*kernel, device, sizes);
  const LaunchShape shape = is_valid ? shape_of(device.id, sizes) : LaunchShape{};
  if (is_valid && is_accepted(*kernel, shape)) return command.send(make);
  const cl_int error = command.send_checked(make);
  if (is_valid && error == CL_SUCCESS) remember_accepted(*kernel, shape);
  return error;
}

}  // namespace

cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                          const size_t* offset, const size_t* global, const size_t* local,
                                          cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_NDRANGE_KERNEL});
  return command.error != CL_SUCCESS ? command.error : launch(command, kernel, {dims, offset, global, local});
}

cl_int CL_API_CALL clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count,
                                 const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_TASK});
  constexpr size_t kOne = 1;
  return command.error != CL_SUCCESS ? command.error : launch(command, kernel, {1, nullptr, &kOne, &kOne});
}

cl_int CL_API_CALL get_suggested_local_size(cl_command_queue queue_handle, cl_kernel kernel_handle,
                                            cl_uint dims, const size_t* offset, const size_t* global,
                                            size_t* suggested) {
  const QueueState* const queue = find_state(queue_handle);
  if (queue == nullptr) return CL_INVALID_COMMAND_QUEUE;
  const KernelState* const kernel = find_state(kernel_handle);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (dims < 1 || dims > 3) return CL_INVALID_WORK_DIMENSION;
  if (global == nullptr) return CL_INVALID_GLOBAL_WORK_SIZE;
  if (suggested == nullptr) return CL_INVALID_VALUE;
  std::array<std::uint64_t, 7> input{dims};
  for (cl_uint d = 0; d < dims; ++d) {
    input[1 + d] = offset == nullptr ? 0 : offset[d];
    input[4 + d] = global[d];
  }
  std::array<std::uint8_t, sizeof input> bytes{};
  std::memcpy(bytes.data(), input.data(), sizeof input);
  std::vector<std::byte> answer;
  const cl_int error = query_server(*kernel->connection,
                                    {.what = wire::InfoSubject::suggested_local_size,
                                     .object = kernel->id,
                                     .device = queue->id,
                                     .input = bytes},
                                    answer);
  if (error != CL_SUCCESS) return error;
  if (answer.size() < dims * sizeof(std::uint64_t)) return CL_OUT_OF_RESOURCES;
  std::memcpy(suggested, answer.data(), dims * sizeof(std::uint64_t));
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client
