#include "interpose/drivers/device_queries.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "interpose/drivers/quirks.h"
#include "plan/device.h"

namespace cleave::interpose {
namespace {

// Of cl_nv_device_attribute_query and cl_amd_device_attribute_query (CL/cl_ext.h names them only in some
// versions).
constexpr cl_device_info kNvidiaMajor = 0x4000;
constexpr cl_device_info kNvidiaMinor = 0x4001;
constexpr cl_device_info kAmdSimds = 0x4040;
constexpr cl_device_info kAmdLanes = 0x4041;

// Of cl_khr_device_uuid and cl_khr_pci_bus_info, for the same reason.
constexpr cl_device_info kUuid = 0x106A;
constexpr cl_device_info kBus = 0x410F;

constexpr cl_command_queue_properties kPlainProperties =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

template <typename T>
T ask(const Table& next, cl_device_id device, cl_device_info what, T otherwise) {
  T value = otherwise;
  return next.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : otherwise;
}

// Hashes texts and bytes that a driver reports of a device.
class Fingerprint {
 public:
  // Returns false if the driver does not answer.
  bool take(const Table& next, cl_device_id device, cl_device_info what) {
    std::array<std::byte, 256> bytes{};
    std::size_t size = 0;
    if (next.clGetDeviceInfo(device, what, bytes.size(), bytes.data(), &size) != CL_SUCCESS) return false;
    hash_ = base::hash_of(std::span(bytes).first(std::min(size, bytes.size())), hash_);
    return size != 0;
  }
  std::uint64_t value() const { return hash_ != 0 ? hash_ : 1; }

 private:
  std::uint64_t hash_ = base::kHashSeed;
};

plan::DeviceProperties query_properties(const Table& next, cl_device_id device) {
  plan::DeviceProperties properties;
  const auto type = ask<cl_device_type>(next, device, CL_DEVICE_TYPE, 0);
  properties.gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  properties.cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  properties.vendor = ask<cl_uint>(next, device, CL_DEVICE_VENDOR_ID, 0);
  properties.compute_units = ask<cl_uint>(next, device, CL_DEVICE_MAX_COMPUTE_UNITS, 1);
  if (properties.gpu && properties.vendor == plan::kNvidia) {
    properties.nv_major = ask<cl_uint>(next, device, kNvidiaMajor, 0);
    properties.nv_minor = ask<cl_uint>(next, device, kNvidiaMinor, 0);
  }
  if (properties.gpu && properties.vendor == plan::kAmd) {
    properties.amd_simds = ask<cl_uint>(next, device, kAmdSimds, 0);
    properties.amd_lanes = ask<cl_uint>(next, device, kAmdLanes, 0);
  }
  return properties;
}

void apply_settings(const base::Settings& settings, const Table& next, cl_device_id device,
                    plan::Device& facts) {
  if (settings.devices.empty()) return;
  std::array<char, 1024> name{};
  if (next.clGetDeviceInfo(device, CL_DEVICE_NAME, name.size() - 1, name.data(), nullptr) != CL_SUCCESS)
    return;
  for (const base::NamedSettings& named : settings.devices) {
    if (!base::matches(named.pattern, name.data())) continue;
    if (named.alpha.is_set()) facts.alpha = &named.alpha;
    if (named.cores != 0) facts.cores = named.cores;
  }
}

SuggestLocalSize find_suggest_local_size(const Table& next, cl_device_id device) {
  const auto platform = ask<cl_platform_id>(next, device, CL_DEVICE_PLATFORM, nullptr);
  if (platform == nullptr) return nullptr;
  return reinterpret_cast<SuggestLocalSize>(
      next.clGetExtensionFunctionAddressForPlatform(platform, "clGetKernelSuggestedLocalWorkSizeKHR"));
}

}  // namespace

plan::Device query_device(const Table& next, const base::Settings& settings, cl_device_id device) noexcept {
  const plan::DeviceProperties properties = query_properties(next, device);
  plan::Device facts;
  facts.cores = plan::cores(properties);
  facts.resident_groups = plan::resident_groups(properties);
  facts.resident_items = plan::resident_items(properties);
  facts.queues = plan::usable_queues(properties);
  facts.gains_from_pipelining = properties.gpu && !properties.cpu;
  try {
    apply_settings(settings, next, device, facts);
  } catch (...) {  // out of memory: the driver's properties without the user's settings
  }
  return facts;
}

std::uint64_t identity_of(const Table& next, cl_device_id device) noexcept {
  Fingerprint print;
  bool exact = false;
  for (const cl_device_info place : {kUuid, kBus}) exact = exact || print.take(next, device, place);
  if (!exact) {
    for (const cl_device_info name : {CL_DEVICE_NAME, CL_DEVICE_VENDOR}) print.take(next, device, name);
  }
  return print.value();
}

std::string nvidia_address(const Table& next, cl_device_id device) {
  struct {  // cl_device_pci_bus_info_khr
    cl_uint domain = 0, bus = 0, device = 0, function = 0;
  } at;
  if (ask<cl_uint>(next, device, CL_DEVICE_VENDOR_ID, 0) != plan::kNvidia ||
      next.clGetDeviceInfo(device, kBus, sizeof at, &at, nullptr) != CL_SUCCESS) {
    return {};
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%08x:%02x:%02x.%x", at.domain, at.bus, at.device, at.function);
  return text.data();
}

bool lacks_markers(const Table& next, cl_device_id device) noexcept {
  std::array<char, 256> version{};
  if (next.clGetDeviceInfo(device, CL_DEVICE_VERSION, version.size() - 1, version.data(), nullptr) !=
      CL_SUCCESS) {
    return true;
  }
  const std::string_view text = version.data();
  return text.starts_with("OpenCL 1.0") || text.starts_with("OpenCL 1.1");
}

void* find_extension_function(const Table& next, cl_device_id device, const char* name) noexcept {
  const auto platform = ask<cl_platform_id>(next, device, CL_DEVICE_PLATFORM, nullptr);
  if (platform == nullptr) return nullptr;
  void* const found = next.clGetExtensionFunctionAddressForPlatform(platform, name);
  return found != nullptr ? found : next.clGetExtensionFunctionAddress(name);
}

void* find_extension_function(const Table& next, cl_command_queue queue, const char* name) noexcept {
  cl_device_id device = nullptr;
  next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, static_cast<void*>(&device), nullptr);
  return device != nullptr ? find_extension_function(next, device, name) : nullptr;
}

void* find_extension_function(const Table& next, cl_context context, const char* name) noexcept try {
  std::size_t size = 0;
  next.clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, nullptr, &size);
  std::vector<cl_device_id> devices(size / sizeof(cl_device_id));
  next.clGetContextInfo(context, CL_CONTEXT_DEVICES, size, static_cast<void*>(devices.data()), nullptr);
  return !devices.empty() ? find_extension_function(next, devices.front(), name) : nullptr;
} catch (...) {  // out of memory
  return nullptr;
}

void* find_extension_function(const Table& next, cl_kernel kernel, const char* name) noexcept {
  cl_context context = nullptr;
  next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof context, static_cast<void*>(&context), nullptr);
  return context != nullptr ? find_extension_function(next, context, name) : nullptr;
}

std::optional<QueueRecord> query_queue(const Table& next, const base::Settings& settings,
                                       cl_command_queue queue) noexcept {
  QueueRecord record;
  cl_command_queue_properties properties = 0;
  if (next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof record.device, &record.device, nullptr) !=
          CL_SUCCESS ||
      next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr) !=
          CL_SUCCESS) {
    return std::nullopt;
  }
  record.in_order = (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  record.profiling = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  const Quirks quirks = quirks_of(next, record.device);
  record.plain = (properties & ~kPlainProperties) == 0 && !quirks.crashes_on_mixed_offsets;
  record.crashes_on_mixed_offsets = quirks.crashes_on_mixed_offsets;
  record.crashes_on_late_failure = quirks.crashes_on_late_failure;
  record.needs_serial_calls = quirks.needs_serial_calls;
  record.crashes_on_shared_failure = quirks.crashes_on_shared_failure;
  record.copies_variables = quirks.copies_variables;
  record.crashes_on_several_mixed_offsets = quirks.crashes_on_several_mixed_offsets;
  record.remote = quirks.remote;
  record.open_local_size = quirks.open_local_size;
  if (!quirks.suggest_corrupts_launches)
    record.suggest_local_size = find_suggest_local_size(next, record.device);
  record.facts = query_device(next, settings, record.device);
  if (quirks.crashes_on_several_queues) record.facts.gains_from_pipelining = false;
  return record;
}

}  // namespace cleave::interpose
