// What the supervisor counts.
//
// Thread-safe: the supervisor's thread counts, the thread of the metrics reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "remote/server/processes/front_counters.h"

namespace cleave::remote::server {

struct ServerStatistics {
  explicit ServerStatistics(const FrontCounters& by_front) : front(by_front) {}

  const FrontCounters& front;
  std::atomic<std::uint64_t> clients{0};  // now
  std::atomic<std::uint64_t> max_clients{0};
  std::atomic<std::uint64_t> waiting{0};             // for a place, now
  std::atomic<std::uint64_t> admitted{0};            // since the start, and so on
  std::atomic<std::uint64_t> queries{0};             // connections that only queried the devices
  std::atomic<std::uint64_t> violations{0};          // as workers have said, at most one for each client
  std::atomic<std::uint64_t> refused_by_workers{0};  // also as workers have said
  std::atomic<std::uint64_t> crashed{0};

  // In Prometheus' text format.
  [[nodiscard]] std::string as_text() const;
};

}  // namespace cleave::remote::server
