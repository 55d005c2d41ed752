#include "plan/device.h"

#include <algorithm>
#include <limits>

namespace cleave::plan {
namespace {

std::size_t nvidia_cores_of_a_multiprocessor(std::uint32_t major, std::uint32_t minor) {
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

std::size_t cores_of_a_unit(const DeviceFigures& figures) {
  if (!figures.gpu) return 1;
  switch (figures.vendor) {
    case kNvidia:
      return nvidia_cores_of_a_multiprocessor(figures.nv_major, figures.nv_minor);
    case kAmd:
      return figures.amd_simds != 0 && figures.amd_lanes != 0
                 ? std::size_t{figures.amd_simds} * figures.amd_lanes
                 : 64;
    case kIntel:
      return 8;
    default:
      return 64;
  }
}

}  // namespace

std::size_t cores(const DeviceFigures& figures) {
  return std::max<std::size_t>(1, figures.compute_units * cores_of_a_unit(figures));
}

std::size_t resident_groups(const DeviceFigures& figures) {
  const std::size_t of_a_unit = figures.cpu ? 1 : figures.gpu && figures.vendor == kNvidia ? 32 : 128;
  return std::max<std::size_t>(1, figures.compute_units * of_a_unit);
}

std::size_t resident_items(const DeviceFigures& figures) {
  if (!figures.gpu) return std::numeric_limits<std::size_t>::max();
  constexpr std::size_t kAmdItems = std::size_t{40} * 64;
  constexpr std::size_t kIntelItems = std::size_t{8} * 32;
  const std::size_t of_a_unit = figures.vendor == kAmd     ? kAmdItems
                                : figures.vendor == kIntel ? kIntelItems
                                                           : 2048;
  return std::max<std::size_t>(1, figures.compute_units * of_a_unit);
}

unsigned usable_queues(const DeviceFigures& figures) {
  return figures.gpu && figures.vendor == kNvidia ? 6 : 4;
}

}  // namespace cleave::plan
