#include "cli/top/energy.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <type_traits>
#include <utility>

namespace cleave::cli {
namespace {

constexpr int kNvmlSuccess = 0;
constexpr unsigned kMostGpus = 64;
// At least as long as NVML's longest names.
using NvmlText = std::array<char, 128>;

}  // namespace

struct EnergyMeters::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device_at)(unsigned, void**) = nullptr;
  int (*name_of)(void*, char*, unsigned) = nullptr;
  int (*uuid_of)(void*, char*, unsigned) = nullptr;
  int (*millijoules_of)(void*, unsigned long long*) = nullptr;

  bool load(void* library) {
    const auto find = [library](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find("nvmlInit_v2", init) && find("nvmlShutdown", shutdown) &&
           find("nvmlDeviceGetCount_v2", count) && find("nvmlDeviceGetHandleByIndex_v2", device_at) &&
           find("nvmlDeviceGetName", name_of) && find("nvmlDeviceGetUUID", uuid_of) &&
           find("nvmlDeviceGetTotalEnergyConsumption", millijoules_of);
  }
};

EnergyMeters::EnergyMeters(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
EnergyMeters::~EnergyMeters() { functions_->shutdown(); }

std::unique_ptr<EnergyMeters> EnergyMeters::open() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  auto functions = std::make_unique<Functions>();
  if (library == nullptr || !functions->load(library) || functions->init() != kNvmlSuccess) return nullptr;
  return std::unique_ptr<EnergyMeters>(new EnergyMeters(std::move(functions)));
}

std::vector<EnergyReading> EnergyMeters::read() const {
  std::vector<EnergyReading> readings;
  unsigned count = 0;
  if (functions_->count(&count) != kNvmlSuccess) return readings;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    void* device = nullptr;
    NvmlText name{};
    NvmlText uuid{};
    unsigned long long millijoules = 0;
    if (functions_->device_at(i, &device) != kNvmlSuccess ||
        functions_->name_of(device, name.data(), name.size() - 1) != kNvmlSuccess ||
        functions_->uuid_of(device, uuid.data(), uuid.size() - 1) != kNvmlSuccess ||
        functions_->millijoules_of(device, &millijoules) != kNvmlSuccess)
      continue;
    readings.push_back({name.data(), uuid.data(), static_cast<double>(millijoules) / 1e3});
  }
  return readings;
}

}  // namespace cleave::cli
