#include "remote/server/session/platforms.h"

#include <algorithm>
#include <array>
#include <fnmatch.h>

#include "opencl/info.h"
#include "remote/protocol/features.h"
#include "remote/server/session/info_result.h"

namespace cleave::remote::server {
namespace {

struct Range {
  cl_uint first;
  cl_uint last;
};

// OpenCL's own parameters, then those of NVIDIA, AMD, Intel and Arm. A driver refuses those that it does not know.
constexpr std::array kDeviceParams{Range{0x1000, 0x1080}, Range{0x4000, 0x4050}, Range{0x4108, 0x410C},
                                   Range{0x4190, 0x419F}, Range{0x4230, 0x4260}};
constexpr std::array kPlatformParams{Range{0x0900, 0x0910}};

// Parameters whose values are handles, or change.
bool is_withheld(cl_uint param) {
  return param == CL_DEVICE_PLATFORM || param == CL_DEVICE_PARENT_DEVICE ||
         param == CL_DEVICE_REFERENCE_COUNT;
}

template <typename Ranges, typename Ask>
Infos all_infos(flatbuffers::FlatBufferBuilder& builder, wire::InfoSubject what, const Ranges& ranges,
                Ask ask) {
  Infos infos;
  for (const Range& range : ranges) {
    for (cl_uint param = range.first; param <= range.last; ++param) {
      if (what == wire::InfoSubject::device && is_withheld(param)) continue;
      const InfoResult result = query_info([&](auto... rest) { return ask(param, rest...); });
      if (result.error == CL_SUCCESS) add_info(builder, infos, what, param, result);
    }
  }
  return infos;
}

std::string name_of(const Table& cl, cl_device_id device) {
  const InfoResult result =
      query_info([&](auto... rest) { return cl.clGetDeviceInfo(device, CL_DEVICE_NAME, rest...); });
  std::string name(result.bytes.begin(), result.bytes.end());
  name.resize(std::min(name.find('\0'), name.size()));
  return name;
}

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
           return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

}  // namespace

std::vector<OfferedPlatform> find_platforms(const Table& cl, const std::vector<std::string>& patterns) {
  std::uint64_t next_id = kFirstServerId;
  cl_uint count = 0;
  if (cl.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) count = 0;
  std::vector<cl_platform_id> handles(count);
  if (count > 0) cl.clGetPlatformIDs(count, handles.data(), nullptr);
  std::vector<OfferedPlatform> platforms;
  for (const cl_platform_id handle : handles) {
    OfferedPlatform platform{next_id++, handle, {}};
    cl_uint devices = 0;
    if (cl.clGetDeviceIDs(handle, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices) != CL_SUCCESS) continue;
    std::vector<cl_device_id> found(devices);
    cl.clGetDeviceIDs(handle, CL_DEVICE_TYPE_ALL, devices, found.data(), nullptr);
    for (const cl_device_id device : found) {
      if (matches_any(name_of(cl, device), patterns)) platform.devices.push_back({next_id++, device});
    }
    if (!platform.devices.empty()) platforms.push_back(std::move(platform));
  }
  return platforms;
}

std::uint64_t memory_of(const Table& cl, const std::vector<OfferedPlatform>& platforms) {
  std::uint64_t sum = 0;
  for (const OfferedPlatform& platform : platforms) {
    for (const OfferedDevice& device : platform.devices) {
      sum += opencl::info<cl_ulong>(cl.clGetDeviceInfo, device.handle, CL_DEVICE_GLOBAL_MEM_SIZE);
    }
  }
  return sum;
}

std::string list_devices(const Table& cl, const std::string& prefix) {
  std::string list;
  for (const OfferedPlatform& platform : find_platforms(cl, {})) {
    for (const OfferedDevice& device : platform.devices) list += prefix + name_of(cl, device.handle) + "\n";
  }
  return list;
}

void register_platforms(const std::vector<OfferedPlatform>& platforms, ObjectTable& objects) {
  DevicePlace place;
  for (const OfferedPlatform& platform : platforms) {
    objects.add_server_object(platform.id, {Kind::platform, platform.handle});
    place.device = 0;
    for (const OfferedDevice& device : platform.devices) {
      objects.add_server_object(device.id, {Kind::device, device.handle});
      objects.set_place(device.handle, place);
      ++place.device;
    }
    ++place.platform;
  }
}

flatbuffers::Offset<wire::Device> describe(const Table& cl, flatbuffers::FlatBufferBuilder& builder,
                                           const OfferedDevice& device) {
  const Infos infos = all_infos(
      builder, wire::InfoSubject::device, kDeviceParams,
      [&](cl_uint param, auto... rest) { return cl.clGetDeviceInfo(device.handle, param, rest...); });
  return wire::CreateDevice(builder, device.id, builder.CreateVector(infos));
}

flatbuffers::Offset<wire::Platform> describe(const Table& cl, flatbuffers::FlatBufferBuilder& builder,
                                             const OfferedPlatform& platform) {
  std::vector<flatbuffers::Offset<wire::Device>> devices;
  for (const OfferedDevice& device : platform.devices) devices.push_back(describe(cl, builder, device));
  const Infos infos = all_infos(
      builder, wire::InfoSubject::platform, kPlatformParams,
      [&](cl_uint param, auto... rest) { return cl.clGetPlatformInfo(platform.handle, param, rest...); });
  return wire::CreatePlatform(builder, platform.id, builder.CreateVector(infos),
                              builder.CreateVector(devices));
}

}  // namespace cleave::remote::server
