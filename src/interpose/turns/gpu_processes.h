// The processes that compute on an NVIDIA GPU, as the driver's management library (NVML, libnvidia-ml.so.1) lists them.
//
// Source: NVIDIA's NVML API reference, "Device Queries" (nvmlDeviceGetComputeRunningProcesses_v3).
//
// For one thread at a time, and not in a forked child.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

namespace cleave::interpose {

class GpuProcesses {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  // Loads the library, which takes some milliseconds, and stays loaded. `address`: the GPU's on the PCI bus,
  // DOMAIN:BUS:DEVICE.FUNCTION in hexadecimal digits. Null: there is no library, or no such GPU.
  static std::unique_ptr<GpuProcesses> open(const char* library, const std::string& address);
  GpuProcesses(const GpuProcesses&) = delete;
  GpuProcesses& operator=(const GpuProcesses&) = delete;
  ~GpuProcesses();

  // Whether others than `self` compute on the GPU, or on the part of it that `self` uses. Empty if that cannot be told: the
  // list lacks `self`, perhaps because it holds ids of another PID namespace. Takes a fifth of a millisecond.
  [[nodiscard]] std::optional<bool> has_others_than(pid_t self) const noexcept;

 private:
  struct Functions;
  GpuProcesses(std::unique_ptr<Functions> functions, void* device);

  const std::unique_ptr<Functions> functions_;
  void* const device_;
};

}  // namespace cleave::interpose
