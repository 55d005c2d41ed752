// The operator's settings for the isolation of workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace cleave::remote::server {

// User ids, both ends included.
struct UserRange {
  uid_t first = 0;
  uid_t last = 0;
};

struct SandboxSettings {
  enum class Use : std::uint8_t { automatic, on, off };

  Use use = Use::automatic;
  std::optional<UserRange> users;         // each worker has one of its own; empty: all have the same user
  std::vector<std::string> devices;       // shell patterns; empty: kDefaultDevices
  std::vector<std::string> files;         // more that workers may read
  std::vector<std::string> system_calls;  // names of those that are not refused
  std::string cache_seed;            // a folder that each worker's cache begins as a copy of; empty: none
  std::uint64_t disk = 1ULL << 30U;  // bytes of a worker's temporary files and caches
  std::uint64_t host_memory = 0;     // bytes; 0: no limit
  unsigned processes = 1024;         // and threads
  unsigned processor = 0;            // percent of one processor; 0: no limit
};

}  // namespace cleave::remote::server
