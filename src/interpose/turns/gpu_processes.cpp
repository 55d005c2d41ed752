#include "interpose/turns/gpu_processes.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <span>
#include <utility>

#include "base/own_descriptors.h"

namespace cleave::interpose {
namespace {

constexpr int kSuccess = 0;

// nvmlProcessInfo_t of version 2 and later.
struct Process {
  unsigned id = 0;
  unsigned long long memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

// More are not needed to find another one, but the list is refused if it does not hold all.
constexpr unsigned kMostProcesses = 1024;

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

struct GpuProcesses::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*find_device)(const char* address, void** device) = nullptr;
  int (*list)(void* device, unsigned* count, void* processes) = nullptr;

  bool load(void* library) {
    return find(library, "nvmlInit_v2", init) && find(library, "nvmlShutdown", shutdown) &&
           find(library, "nvmlDeviceGetHandleByPciBusId_v2", find_device) &&
           find(library, "nvmlDeviceGetComputeRunningProcesses_v3", list);
  }
};

GpuProcesses::GpuProcesses(std::unique_ptr<Functions> functions, void* device)
    : functions_(std::move(functions)), device_(device) {}

GpuProcesses::~GpuProcesses() { functions_->shutdown(); }

std::unique_ptr<GpuProcesses> GpuProcesses::open(const char* library, const std::string& address) {
  const base::HeldStandardNumbers held;  // the library keeps the driver's devices open
  void* const loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  auto functions = std::make_unique<Functions>();
  if (loaded == nullptr || !functions->load(loaded) || functions->init() != kSuccess) return nullptr;
  void* device = nullptr;
  const bool found = functions->find_device(address.c_str(), &device) == kSuccess;
  std::unique_ptr<GpuProcesses> made(new GpuProcesses(std::move(functions), device));
  return found ? std::move(made) : nullptr;
}

std::optional<bool> GpuProcesses::has_others_than(pid_t self) const noexcept {
  std::array<Process, kMostProcesses> listed;
  unsigned count = kMostProcesses;
  if (functions_->list(device_, &count, listed.data()) != kSuccess) return std::nullopt;
  const auto all = std::span(listed).first(std::min(count, kMostProcesses));
  const auto is_self = [self](const Process& each) { return each.id == static_cast<unsigned>(self); };
  const auto mine = std::find_if(all.begin(), all.end(), is_self);
  if (mine == all.end()) return std::nullopt;
  return std::any_of(all.begin(), all.end(), [&](const Process& each) {
    return !is_self(each) && each.gpu_instance == mine->gpu_instance &&
           each.compute_instance == mine->compute_instance;
  });
}

}  // namespace cleave::interpose
