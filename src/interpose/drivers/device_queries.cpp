#include "interpose/drivers/device_queries.h"

#include <cstddef>
#include <vector>

namespace cleave::interpose {
namespace {

constexpr cl_command_queue_properties kPlainProperties =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

void* find_on_platform(const Table& next, cl_platform_id platform, const char* name) noexcept {
  return platform != nullptr ? next.clGetExtensionFunctionAddressForPlatform(platform, name) : nullptr;
}

}  // namespace

void* find_extension_function(const Table& next, Devices& devices, cl_device_id device,
                              const char* name) noexcept {
  void* const found = find_on_platform(next, devices.of(device)->platform, name);
  return found != nullptr ? found : next.clGetExtensionFunctionAddress(name);
}

void* find_extension_function(const Table& next, Devices& devices, cl_command_queue queue,
                              const char* name) noexcept {
  cl_device_id device = nullptr;
  next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, static_cast<void*>(&device), nullptr);
  return device != nullptr ? find_extension_function(next, devices, device, name) : nullptr;
}

void* find_extension_function(const Table& next, Devices& devices, cl_context context,
                              const char* name) noexcept try {
  std::size_t size = 0;
  next.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &size);
  std::vector<cl_device_id> all(size / sizeof(cl_device_id));
  next.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, static_cast<void*>(all.data()), nullptr);
  return !all.empty() ? find_extension_function(next, devices, all.front(), name) : nullptr;
} catch (...) {  // out of memory
  return nullptr;
}

void* find_extension_function(const Table& next, Devices& devices, RecordMap<HeldRecord>& contexts,
                              cl_kernel kernel, const char* name) noexcept try {
  cl_context context = nullptr;
  next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, static_cast<void*>(&context), nullptr);
  if (context == nullptr) return nullptr;
  if (const Hold hold(next, contexts, context); hold)
    return find_extension_function(next, devices, context, name);
  void* only = nullptr;
  for (const cl_platform_id platform : devices.platforms()) {
    void* const found = find_on_platform(next, platform, name);
    // With several drivers only the context shows which one it is; its kernel keeps it.
    if (found != nullptr && only != nullptr && found != only)
      return find_extension_function(next, devices, context, name);
    if (found != nullptr) only = found;
  }
  return only != nullptr ? only : next.clGetExtensionFunctionAddress(name);
} catch (...) {  // out of memory
  return nullptr;
}

std::optional<QueueRecord> query_queue(const Table& next, Devices& devices, cl_command_queue queue) noexcept {
  QueueRecord record;
  cl_command_queue_properties properties = 0;
  if (next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof record.device, &record.device, nullptr) !=
          CL_SUCCESS ||
      next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr) !=
          CL_SUCCESS) {
    return std::nullopt;
  }
  const Devices::Facts facts = devices.of(record.device);
  const Quirks& quirks = facts->quirks;
  record.in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  record.profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  record.plain = (properties & ~kPlainProperties) == 0 && !quirks.crashes_on_mixed_offsets;
  record.crashes_on_mixed_offsets = quirks.crashes_on_mixed_offsets;
  record.crashes_on_late_failure = quirks.crashes_on_late_failure;
  record.needs_serial_calls = quirks.needs_serial_calls;
  record.crashes_on_shared_failure = quirks.crashes_on_shared_failure;
  record.copies_variables = quirks.copies_variables;
  record.crashes_on_several_mixed_offsets = quirks.crashes_on_several_mixed_offsets;
  record.remote = quirks.remote;
  record.open_local_size = quirks.open_local_size;
  record.suggest_local_size = facts->suggest_local_size;
  record.facts = facts->plan;
  return record;
}

}  // namespace cleave::interpose
