// What one client may use. Set by the operator's options.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cleave::remote::server {

// Of one build of a program (builds/build_trials.h).
struct BuildLimits {
  std::uint64_t seconds = 600;  // of processor time; 0: builds are not tried
  std::uint64_t memory = std::uint64_t{4}
                         << 30U;  // bytes, beyond those that the driver takes without a build
  std::uint64_t output = std::uint64_t{256} << 20U;  // bytes of each file that the compiler writes
};

struct ClientLimits {
  std::uint64_t memory = UINT64_MAX;                // bytes of all that the client has kept
  std::uint64_t staging = std::uint64_t{2} << 30U;  // bytes in transfer
  std::uint64_t window_commands = 8192;             // flow control: commands in flight
  std::uint64_t window_bytes = std::uint64_t{128} << 20U;
  std::size_t objects = std::size_t{4} << 20U;
  std::uint64_t growth = UINT64_MAX;  // bytes by which the process may grow (growth_for())
  std::size_t queues = 512;
  std::uint64_t program = std::uint64_t{256} << 20U;  // bytes of one program's text, IL or binaries
  BuildLimits build;
  std::chrono::milliseconds silence{10'000};       // after which the client counts as disconnected
  std::chrono::milliseconds peer_silence{10'000};  // after which another server that sends contents does
  std::chrono::seconds idle{0};                    // without a command or a build; 0: no limit
};

// The host memory that all objects of a client may take (overhead_of()), where its memory is limited to that.
[[nodiscard]] constexpr std::uint64_t max_overhead_for(std::uint64_t memory) {
  return std::clamp(memory, std::uint64_t{16} << 20U, std::uint64_t{1} << 30U);
}

// The private memory that the process of a client may have beyond what it had before: its memory, which is the host's where the
// device is, data in transfer, its objects, and what drivers and compilers need.
[[nodiscard]] constexpr std::uint64_t growth_for(std::uint64_t memory) {
  constexpr std::uint64_t kOthers = std::uint64_t{4} << 30U;
  return memory < UINT64_MAX - kOthers ? memory + kOthers : UINT64_MAX;
}

// The memory of one client where the operator names none: the memory of all its devices except one client's part, and
// no less than others need to begin, so that no client can take all of it.
[[nodiscard]] constexpr std::uint64_t default_memory(std::uint64_t devices_have, unsigned max_clients) {
  constexpr std::uint64_t kLeastLeft = std::uint64_t{512} << 20U;
  if (max_clients < 2 || devices_have == 0) return UINT64_MAX;
  return devices_have - std::max(devices_have / max_clients, std::min(kLeastLeft, devices_have / 2));
}

}  // namespace cleave::remote::server
