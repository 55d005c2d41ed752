#include "interpose/drivers/quirks.h"

#include <charconv>
#include <string_view>

#include "base/driver_platform.h"

namespace cleave::interpose {
namespace {

// The major version of PoCL; 0 if the text names none.
unsigned pocl_version(std::string_view text) noexcept {
  for (const std::string_view name : {"PoCL ", "pocl "}) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    unsigned version = 0;
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), version);
    return version;
  }
  return 0;
}

// Of the root device: sub-devices share its thread pool.
cl_uint threads_of(const Table& next, cl_device_id device) noexcept {
  while (const cl_device_id parent = parent_of(next, device)) device = parent;
  cl_uint units = 0;
  next.clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  return units;
}

bool has_no_variables(const Table& next, cl_device_id device) noexcept {
  std::size_t size = 0;
  return next.clGetDeviceInfo(device, CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, sizeof size, &size, nullptr) !=
             CL_SUCCESS ||
         size == 0;
}

}  // namespace

cl_device_id parent_of(const Table& next, cl_device_id device) noexcept {
  cl_device_id parent = nullptr;
  next.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, static_cast<void*>(&parent), nullptr);
  return parent;
}

Quirks quirks_of(const Table& next, cl_device_id device) noexcept {
  Quirks quirks;
  cl_device_type type = 0;
  cl_platform_id platform = nullptr;
  if (next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) != CL_SUCCESS ||
      next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, static_cast<void*>(&platform),
                           nullptr) != CL_SUCCESS)
    return quirks;
  quirks.remote = base::is_remote_platform(next, platform);
  if (quirks.remote) return quirks;
  const base::PlatformText text = base::driver_platform_text(next, platform, CL_PLATFORM_NAME);
  const std::string_view name = text.data();
  const bool is_pocl = name == "Portable Computing Language";
  quirks.crashes_on_several_queues = quirks.loses_argument_info_with_options = is_pocl;
  if ((type & CL_DEVICE_TYPE_CPU) == 0) return quirks;
  if (name.starts_with("Intel(R)")) quirks.suggest_corrupts_launches = quirks.failed_builds_are_final = true;
  quirks.crashes_on_shared_failure = name.starts_with("Intel(R)") || name == "Oclgrind";
  quirks.needs_serial_calls = name == "Oclgrind";
  quirks.crashes_on_late_failure = is_pocl;
  quirks.copies_variables = quirks.crashes_on_late_failure && has_no_variables(next, device);
  const unsigned pocl = pocl_version(base::driver_platform_text(next, platform, CL_PLATFORM_VERSION).data());
  if (name == "Oclgrind") quirks.open_local_size = plan::OpenLocalSize::one_item;
  const bool is_root = parent_of(next, device) == nullptr;
  if (is_pocl && pocl == 3 && is_root) quirks.open_local_size = plan::OpenLocalSize::pocl3;
  quirks.crashes_on_mixed_offsets = pocl == 4 || pocl == 5;
  quirks.crashes_on_several_mixed_offsets = pocl != 0 && pocl <= 3 && threads_of(next, device) > 1;
  return quirks;
}

}  // namespace cleave::interpose
