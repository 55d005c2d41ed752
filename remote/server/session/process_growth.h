// By how much this process has grown since its client has come: private memory that is resident, whoever has allocated it.
//
// Not thread-safe. Nothing throws.
#pragma once

#include <chrono>
#include <cstdint>

namespace cleave::remote::server {

// Bytes of private memory of a process that are resident. 0: it has ended, or they cannot be read.
[[nodiscard]] std::uint64_t private_memory(const char* process);

class ProcessGrowth {
 public:
  // Not newer than kPeriod.
  [[nodiscard]] std::uint64_t bytes();

 private:
  static constexpr std::chrono::milliseconds kPeriod{10};

  const std::uint64_t before_ = private_memory("self");
  std::uint64_t bytes_ = 0;
  std::chrono::steady_clock::time_point read_{};
};

}  // namespace cleave::remote::server
