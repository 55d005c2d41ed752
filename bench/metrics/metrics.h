// Metrics of GPU-Virt-Bench (arXiv 2512.22125), defined as its source does it (github.com/BudEcosystem/GPU-Virt-Bench,
// src/metrics), for OpenCL. Where OpenCL differs, the function says how.
#pragma once

#include <string>
#include <vector>

#include "bench/metrics/device.h"

namespace metrics {

// Each repetition; what they are is with each metric.
using Values = std::vector<double>;

struct Metric {
  const char* name;
  Values (*measure)(Device& device);
};

// Those that one process measures by itself: OH-001 to OH-010, IS-001, IS-002, IS-004, IS-007, IS-008, IS-010, ERR-001 to ERR-003.
// Throws std::invalid_argument if there is none of that name.
const Metric* find(const std::string& name);
const std::vector<Metric>& overheads();
const std::vector<Metric>& limits();
const std::vector<Metric>& errors();

// How long each of so many batches takes, in milliseconds: IS-006 and IS-009 compare these with and without a neighbour.
struct Batches {
  int count;
  int launches;
  std::size_t groups;
};
Batches isolation_batches(const Device& device);
Batches noise_batches(const Device& device);
Values time_of(Device& device, const Batches& batches);
// The neighbour: launches and waits, until the standard input has something to read or ends. When each launch ended, in seconds of
// the steady clock.
Values keep_launching(Device& device);

// IS-003: launches for so long, after a tenth of a second of rest; when each ended on the device, in seconds since the first began.
Values keep_busy(const Options& options, double seconds);

// IS-005: shared virtual memory with a word in it, at an address that is returned; and whether the word can be read at that
// address, which the driver may answer by ending the process.
class Secret {
 public:
  Secret(Device& device, cl_ulong word);
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();
  [[nodiscard]] void* address() const { return memory_; }

 private:
  Device& device_;
  void* memory_;
};
bool can_read(Device& device, void* address, cl_ulong word);

}  // namespace metrics
