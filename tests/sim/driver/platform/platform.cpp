// The platform and its devices: discovery, sub-devices, timers. What devices answer is in device_info.cpp.
#include "tests/sim/driver/platform/platform.h"

#include <algorithm>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/platform/device_info.h"

namespace cleave::sim {
namespace platform_functions {

constexpr InfoRow<Options> platform_rows[] = {
    {CL_PLATFORM_PROFILE, [](const Options&) { return "FULL_PROFILE"; }},
    {CL_PLATFORM_VERSION, [](const Options& options) { return options.platform_version; }},
    {CL_PLATFORM_NUMERIC_VERSION,
     [](const Options& options) -> cl_version { return numeric_version(options); }},
    {CL_PLATFORM_NAME, [](const Options& options) { return options.platform_name; }},
    {CL_PLATFORM_VENDOR, [](const Options& options) { return options.platform_vendor; }},
    {CL_PLATFORM_EXTENSIONS, [](const Options& options) { return extension_string(options); }},
    {CL_PLATFORM_EXTENSIONS_WITH_VERSION, [](const Options& options) { return extension_list(options); }},
    {CL_PLATFORM_HOST_TIMER_RESOLUTION, [](const Options&) -> cl_ulong { return 1; }},
    {CL_PLATFORM_ICD_SUFFIX_KHR, [](const Options& options) { return options.icd_suffix; }},
};

void platform_info(CallFrame& frame, cl_platform_id handle, InfoQuery query) {
  if (handle != nullptr) frame.state.get(handle);
  answer(platform_rows, frame.state.options, query);
}

void device_ids(CallFrame& frame, cl_platform_id platform, cl_device_type type, cl_uint entries,
                cl_device_id* devices, cl_uint* count) {
  if (platform != nullptr) frame.state.get(platform);
  constexpr cl_device_type known = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
                                   CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CUSTOM;
  require(type == CL_DEVICE_TYPE_ALL || (type != 0 && (type & ~known) == 0), CL_INVALID_DEVICE_TYPE);
  std::vector<cl_device_id> found;
  for (const auto& device : frame.state.devices) {
    const bool is_default = (type & CL_DEVICE_TYPE_DEFAULT) != 0 && found.empty();
    if (is_default || (type & frame.state.options.device_type) != 0) found.push_back(handle_of(device));
  }
  answer_list(found, entries, devices, count);
  require(!found.empty(), CL_DEVICE_NOT_FOUND);
}

// Root devices are not counted: retaining and releasing them does nothing.
void retain_device(CallFrame&, Device& device) {
  if (device.parent) device.retain();
}

void release_device(CallFrame&, Device& device) {
  if (device.parent) require(device.release(), CL_INVALID_DEVICE);
}

// The compute units of each sub-device that `properties` requests.
std::vector<cl_uint> partition(const Device& device, const cl_device_partition_property* properties) {
  require(properties != nullptr, CL_INVALID_VALUE);
  std::vector<cl_uint> shares;
  if (properties[0] == CL_DEVICE_PARTITION_EQUALLY) {
    const auto each = static_cast<cl_uint>(properties[1]);
    require(each > 0 && properties[2] == 0, CL_INVALID_VALUE);
    shares.assign(device.compute_units / each, each);
    require(!shares.empty(), CL_DEVICE_PARTITION_FAILED);
    return shares;
  }
  require(properties[0] == CL_DEVICE_PARTITION_BY_COUNTS, CL_INVALID_VALUE);
  cl_uint left = device.compute_units;
  for (std::size_t i = 1; properties[i] != CL_DEVICE_PARTITION_BY_COUNTS_LIST_END; ++i) {
    const auto share = static_cast<cl_uint>(properties[i]);
    require(properties[i] > 0 && share <= left, CL_INVALID_DEVICE_PARTITION_COUNT);
    left -= share;
    shares.push_back(share);
  }
  require(!shares.empty(), CL_INVALID_VALUE);
  return shares;
}

void create_sub_devices(CallFrame& frame, Device& parent, const cl_device_partition_property* properties,
                        cl_uint entries, cl_device_id* devices, cl_uint* count) {
  const auto shares = partition(parent, properties);
  require(devices == nullptr || entries >= shares.size(), CL_INVALID_VALUE);
  if (count != nullptr) *count = static_cast<cl_uint>(shares.size());
  for (std::size_t i = 0; devices != nullptr && i < shares.size(); ++i) {
    auto device = frame.state.make<Device>();
    device->name = parent.name;
    device->compute_units = shares[i];
    device->parent = shared(parent);
    device->partition.assign({properties[0], static_cast<cl_device_partition_property>(shares[i]), 0});
    devices[i] = handle_of(device);
  }
}

void host_timer(CallFrame& frame, cl_device_id device, cl_ulong* host) {
  frame.state.get(device);
  require(host != nullptr, CL_INVALID_VALUE);
  *host = static_cast<cl_ulong>(frame.state.now().count());
}

void both_timers(CallFrame& frame, cl_device_id device, cl_ulong* device_time, cl_ulong* host_time) {
  host_timer(frame, device, host_time);
  require(device_time != nullptr, CL_INVALID_VALUE);
  *device_time = *host_time;
}

void unload_compiler(CallFrame&) {}
void unload_platform_compiler(CallFrame& frame, cl_platform_id platform) { frame.state.get(platform); }

}  // namespace platform_functions

void platform_ids(CallFrame& frame, cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  answer_list<cl_platform_id>({handle_of(frame.state.platform)}, entries, platforms, count);
}

void platform_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clGetPlatformIDs, platform_ids);
  SIM_IMPLEMENT(clGetPlatformInfo, platform_info);
  SIM_IMPLEMENT(clGetDeviceIDs, device_ids);
  SIM_IMPLEMENT(clGetDeviceInfo, device_info);
  SIM_IMPLEMENT(clRetainDevice, retain_device);
  SIM_IMPLEMENT(clReleaseDevice, release_device);
  SIM_IMPLEMENT(clCreateSubDevices, create_sub_devices);
  SIM_IMPLEMENT(clGetHostTimer, host_timer);
  SIM_IMPLEMENT(clGetDeviceAndHostTimer, both_timers);
  SIM_IMPLEMENT(clUnloadCompiler, unload_compiler);
  SIM_IMPLEMENT(clUnloadPlatformCompiler, unload_platform_compiler);
}

}  // namespace cleave::sim
