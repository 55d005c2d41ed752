// What a device's plain figures say about its size. Nothing here calls OpenCL.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::plan {

// CL_DEVICE_VENDOR_ID of vendors that are told apart: their PCI numbers.
inline constexpr std::uint32_t kNvidia = 0x10de;
inline constexpr std::uint32_t kAmd = 0x1002;
inline constexpr std::uint32_t kIntel = 0x8086;

// The figures a driver gives of a device; 0 where it does not say.
struct DeviceProperties {
  bool cpu = false;                 // CL_DEVICE_TYPE has CL_DEVICE_TYPE_CPU
  bool gpu = false;                 // CL_DEVICE_TYPE has CL_DEVICE_TYPE_GPU
  std::uint32_t vendor = 0;         // CL_DEVICE_VENDOR_ID, a PCI vendor for GPUs
  std::uint32_t compute_units = 1;  // CL_DEVICE_MAX_COMPUTE_UNITS
  std::uint32_t nv_major = 0;       // cl_nv_device_attribute_query: compute capability
  std::uint32_t nv_minor = 0;
  std::uint32_t amd_simds = 0;  // cl_amd_device_attribute_query: SIMDs of a compute unit, lanes of a SIMD
  std::uint32_t amd_lanes = 0;
};

// The number of cores, the paper's word for the work-items a device carries out in one clock:
//   NVIDIA  compute units × the cores of a multiprocessor of that compute capability (CUDA C++ Programming
//   Guide,
//           table "Arithmetic Instructions", 32-bit add)
//   AMD     compute units × SIMDs × lanes, 64 for each unit where the driver does not say
//   Intel   8 for each execution unit, which is what Intel calls a compute unit
//   others  GPUs: 64 for each compute unit; CPUs and the rest: 1 for each compute unit
// At least 1.
std::size_t cores(const DeviceProperties& properties);

// An upper bound of the work-groups the device can hold at once. CPU drivers run a group to its end on a
// thread of its own for each compute unit; NVIDIA holds 32 groups on a multiprocessor (same guide, "Technical
// Specifications per Compute Capability"); for all others 128 on a compute unit is more than any of them
// holds. At least 1.
std::size_t resident_groups(const DeviceProperties& properties);

// The same for work-items: NVIDIA 2048 on a multiprocessor (same guide; some have room for fewer), AMD 40
// wavefronts of 64 on a compute unit, Intel 8 threads of 32 on an execution unit, other GPUs 2048. CPUs:
// those of the groups, however large these are. At least 1.
std::size_t resident_items(const DeviceProperties& properties);

// The most queues that one launch should be on at a time. A device takes work from so many hardware queues at
// once; beyond that all others wait for the launch as a whole. NVIDIA has 8 (measured on an H200: with 6
// others get in between two slices, with 8 they do not), so 6; others 4, AMD's default.
unsigned usable_queues(const DeviceProperties& properties);

}  // namespace cleave::plan
