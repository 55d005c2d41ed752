// What the server has seen, as Prometheus wants to read it.
//
// Thread-safe: the supervisor counts, the thread of the metrics reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace cleave::remote::server {

struct ServerStatistics {
  std::atomic<std::uint64_t> clients{0};  // now
  std::atomic<std::uint64_t> most_clients{0};
  std::atomic<std::uint64_t> connections{0};  // ever
  std::atomic<std::uint64_t> admitted{0};
  std::atomic<std::uint64_t> queries{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> violations{0};
  std::atomic<std::uint64_t> crashed{0};
  std::atomic<std::uint64_t> rejected{0};  // before anything was read

  [[nodiscard]] std::string as_text() const;
};

}  // namespace cleave::remote::server
