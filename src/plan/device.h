// The size of a device, derived from its properties. Nothing here calls OpenCL.
//
// Thread-safe: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::plan {

// CL_DEVICE_VENDOR_ID (PCI numbers) of the vendors that are treated differently.
inline constexpr std::uint32_t kNvidia = 0x10de;
inline constexpr std::uint32_t kAmd = 0x1002;
inline constexpr std::uint32_t kIntel = 0x8086;

// The properties that a driver reports; 0 where it reports none.
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

// The number of cores: the paper's word for the work-items that a device executes in one clock. At least 1.
//
//   NVIDIA  compute units × cores of a multiprocessor of that compute capability (CUDA C++ Programming Guide, table
//           "Arithmetic Instructions", 32-bit add)
//   AMD     compute units × SIMDs × lanes; 64 per unit if the driver does not say
//   Intel   8 per execution unit, which is what Intel calls a compute unit
//   others  GPUs: 64 per compute unit; CPUs and the rest: 1 per compute unit
std::size_t cores(const DeviceProperties& properties);

// An upper bound of the work-groups that the device holds at once. At least 1. CPU drivers run one group per compute
// unit to its end; NVIDIA holds 32 groups on a multiprocessor (same guide, "Technical Specifications per Compute
// Capability"); 128 per compute unit is more than any other device holds.
std::size_t resident_groups(const DeviceProperties& properties);

// The same for work-items. NVIDIA: 2048 per multiprocessor (same guide; some hold fewer). AMD: 40 wavefronts of 64 per
// compute unit. Intel: 8 threads of 32 per execution unit. Other GPUs: 2048. CPUs: no limit other than that of groups.
std::size_t resident_items(const DeviceProperties& properties);

// The most queues that one launch should use at a time. A device serves a limited number of hardware queues at once;
// if one launch takes all, other work waits for the whole launch. NVIDIA has 8 (measured on an H200: with 6 other work
// gets in between two slices, with 8 it does not), so 6; others 4, AMD's default.
unsigned usable_queues(const DeviceProperties& properties);

}  // namespace cleave::plan
