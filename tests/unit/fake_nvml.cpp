// A stand-in for NVIDIA's management library, with GPUs for each case of gpu_processes_test.cpp.
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Process {
  unsigned id;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

constexpr unsigned kWhole = 0xffffffff;
constexpr int kSuccess = 0;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

std::vector<std::vector<Process>>& gpus() {
  static std::vector<std::vector<Process>> all = {
      {{100, 0, kWhole, kWhole}},
      {{7, 0, kWhole, kWhole}, {100, 0, kWhole, kWhole}},
      {{100, 0, 1, 0}, {101, 0, 2, 0}, {102, 0, 2, 0}, {103, 0, 1, 1}},
      std::vector<Process>(5000, {100, 0, kWhole, kWhole}),
  };
  return all;
}

}  // namespace

// Exported, as the real ones are.
#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  const char* const number = std::strrchr(address, ':');
  const auto index = number != nullptr ? static_cast<std::size_t>(std::atoi(number + 1)) : 0;
  if (index == 0 || index > gpus().size()) return kNotFound;
  *device = &gpus()[index - 1];
  return kSuccess;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void* processes) {
  const auto& listed = *static_cast<const std::vector<Process>*>(device);
  if (listed.size() > *count) return kInsufficientSize;
  *count = static_cast<unsigned>(listed.size());
  std::memcpy(processes, listed.data(), listed.size() * sizeof(Process));
  return kSuccess;
}
}
#pragma GCC visibility pop
