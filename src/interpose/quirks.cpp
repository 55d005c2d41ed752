#include "interpose/quirks.h"

#include <array>
#include <string_view>

#include "base/remote_mark.h"

namespace cleave::interpose {
namespace {

using Text = std::array<char, 256>;

Text ask(const Table& next, cl_platform_id platform, cl_platform_info what) noexcept {
  Text text{};
  if (next.clGetPlatformInfo(platform, what, text.size() - 1, text.data(), nullptr) != CL_SUCCESS) text = {};
  return text;
}

bool is_pocl_4_or_5(std::string_view version) noexcept {
  for (const std::string_view name : {"PoCL 4.", "PoCL 5.", "pocl 4.", "pocl 5."})
    if (version.find(name) != std::string_view::npos) return true;
  return false;
}

bool has_no_variables(const Table& next, cl_device_id device) noexcept {
  std::size_t size = 0;
  return next.clGetDeviceInfo(device, CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, sizeof size, &size, nullptr) !=
             CL_SUCCESS ||
         size == 0;
}

}  // namespace

Quirks quirks_of(const Table& next, cl_device_id device) noexcept {
  Quirks quirks;
  cl_device_type type = 0;
  cl_platform_id platform = nullptr;
  if (next.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr) != CL_SUCCESS ||
      next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, static_cast<void*>(&platform),
                           nullptr) != CL_SUCCESS)
    return quirks;
  const Text text = ask(next, platform, CL_PLATFORM_NAME);
  const std::string_view name = text.data();
  quirks.queues_clash = quirks.silence_tells_arguments = name == "Portable Computing Language";
  quirks.remote = base::is_remote(name);
  if (quirks.remote) return quirks;
  if ((type & CL_DEVICE_TYPE_CPU) == 0) return quirks;
  if (name.starts_with("Intel(R)")) quirks.suggesting_harms = quirks.failed_builds_stick = true;
  quirks.failures_multiply = name.starts_with("Intel(R)") || name == "Oclgrind";
  quirks.failures_abort = name == "Portable Computing Language";
  quirks.copies_variables = quirks.failures_abort && has_no_variables(next, device);
  quirks.offsets_clash = is_pocl_4_or_5(ask(next, platform, CL_PLATFORM_VERSION).data());
  return quirks;
}

}  // namespace cleave::interpose
