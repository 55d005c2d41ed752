#include "plan/device.h"

#include <algorithm>
#include <limits>

namespace cleave::plan {
namespace {

std::size_t nvidia_cores_per_multiprocessor(std::uint32_t major, std::uint32_t minor) {
  switch (major) {
    case 2:
      return minor == 0 ? 32 : 48;
    case 3:
      return 192;
    case 6:
      return minor == 0 ? 64 : 128;
    case 7:
      return 64;
    case 8:
      return minor == 0 ? 64 : 128;
    default:
      return 128;  // 5, 9 and all newer ones so far
  }
}

std::size_t cores_per_unit(const DeviceProperties& properties) {
  if (!properties.gpu) return 1;
  switch (properties.vendor) {
    case kNvidia:
      return nvidia_cores_per_multiprocessor(properties.nv_major, properties.nv_minor);
    case kAmd:
      return properties.amd_simds != 0 && properties.amd_lanes != 0
                 ? std::size_t{properties.amd_simds} * properties.amd_lanes
                 : 64;
    case kIntel:
      return 8;
    default:
      return 64;
  }
}

}  // namespace

std::size_t cores(const DeviceProperties& properties) {
  return std::max<std::size_t>(1, properties.compute_units * cores_per_unit(properties));
}

std::size_t resident_groups(const DeviceProperties& properties) {
  const std::size_t per_unit = properties.cpu ? 1 : properties.gpu && properties.vendor == kNvidia ? 32 : 128;
  return std::max<std::size_t>(1, properties.compute_units * per_unit);
}

std::size_t resident_items(const DeviceProperties& properties) {
  if (!properties.gpu) return std::numeric_limits<std::size_t>::max();
  constexpr std::size_t kAmdItems = std::size_t{40} * 64;
  constexpr std::size_t kIntelItems = std::size_t{8} * 32;
  const std::size_t per_unit = properties.vendor == kAmd     ? kAmdItems
                               : properties.vendor == kIntel ? kIntelItems
                                                             : 2048;
  return std::max<std::size_t>(1, properties.compute_units * per_unit);
}

unsigned usable_queues(const DeviceProperties& properties) {
  return properties.gpu && properties.vendor == kNvidia ? 6 : 4;
}

}  // namespace cleave::plan
