// The energy that NVIDIA's GPUs have used, by the driver's management library (NVML, libnvidia-ml.so.1), which is loaded if
// it is there.
//
// Source: NVIDIA's NVML API reference, nvmlDeviceGetTotalEnergyConsumption: since the driver was loaded, from Volta on.
//
// For one thread. Throws only if out of memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cleave::cli {

struct EnergyReading {
  std::string device;  // its name, as OpenCL has it too
  std::string uuid;
  double joules = 0;
};

class EnergyMeters {
 public:
  // Null if there is no such library.
  static std::unique_ptr<EnergyMeters> open();
  EnergyMeters(const EnergyMeters&) = delete;
  EnergyMeters& operator=(const EnergyMeters&) = delete;
  ~EnergyMeters();

  // Of the GPUs that report it.
  [[nodiscard]] std::vector<EnergyReading> read() const;

 private:
  struct Functions;
  explicit EnergyMeters(std::unique_ptr<Functions> functions);

  const std::unique_ptr<Functions> functions_;
};

}  // namespace cleave::cli
