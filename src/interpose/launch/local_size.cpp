#include "interpose/launch/local_size.h"

#include <array>

#include "plan/local_size.h"
#include "plan/pocl_local_size.h"

namespace cleave::interpose {
namespace {

bool usable(const plan::Extent& local, unsigned dims) {
  for (unsigned d = 0; d < dims; ++d) {
    if (local[d] == 0) return false;
  }
  return true;
}

template <typename T>
bool ask(const Table& next, cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, T& value) {
  return next.clGetKernelWorkGroupInfo(kernel, device, what, sizeof value, &value, nullptr) == CL_SUCCESS;
}

std::optional<plan::LocalLimits> limits_of(const Table& next, cl_device_id device, const DeviceFacts& facts,
                                           cl_kernel kernel, unsigned dims) {
  plan::LocalLimits limits;
  if (!ask(next, kernel, device, CL_KERNEL_WORK_GROUP_SIZE, limits.group) ||
      !ask(next, kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, limits.multiple) ||
      !facts.max_work_items) {
    return std::nullopt;
  }
  for (unsigned d = 0; d < dims; ++d) limits.items[d] = (*facts.max_work_items)[d];
  return limits;
}

// What the driver would choose for the whole launch; empty if that is not known.
std::optional<plan::Extent> known_choice(const QueueRecord& queue, const DeviceFacts& facts,
                                         const plan::LocalLimits& limits, const plan::NDRange& range) {
  if (queue.open_local_size == plan::OpenLocalSize::one_item) return plan::Extent{1, 1, 1};
  if (queue.open_local_size != plan::OpenLocalSize::pocl3 || !facts.compute_units) return std::nullopt;
  return plan::pocl_local_size(range, limits, *facts.compute_units);
}

}  // namespace

std::optional<plan::Extent> explicit_local_size(const Table& next, Devices& devices, const QueueRecord& queue,
                                                cl_command_queue handle, cl_kernel kernel,
                                                bool depends_on_grouping, const plan::NDRange& range,
                                                std::size_t slices) noexcept {
  const DeviceHold hold(devices, queue.device);
  if (!hold) return std::nullopt;
  plan::Extent local{0, 0, 0};
  if (!ask(next, kernel, queue.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, local)) return std::nullopt;
  // Whether a launch may omit a required size depends on the version: the driver decides, with the whole launch.
  if (local[0] != 0) return std::nullopt;
  local = {1, 1, 1};
  if (queue.suggest_local_size != nullptr &&
      queue.suggest_local_size(handle, kernel, range.dims, range.offset.data(), range.global.data(),
                               local.data()) == CL_SUCCESS) {
    return usable(local, range.dims) ? std::optional(local) : std::nullopt;
  }
  const auto facts = devices.of(queue.device);
  const auto limits = limits_of(next, queue.device, *facts, kernel, range.dims);
  if (!limits) return std::nullopt;
  if (!depends_on_grouping) {
    if (const auto own = plan::choose_local_size(range, *limits, slices)) return own;
  }
  return known_choice(queue, *facts, *limits, range);
}

}  // namespace cleave::interpose
