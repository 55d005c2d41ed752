// What the server has seen, as Prometheus wants to read it.
//
// Thread-safe: the supervisor counts, the thread of the metrics reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace cleave::remote::server {

struct Tally {
  std::atomic<std::uint64_t> clients{0};  // now
  std::atomic<std::uint64_t> most_clients{0};
  std::atomic<std::uint64_t> connections{0};  // ever
  std::atomic<std::uint64_t> admitted{0};
  std::atomic<std::uint64_t> visitors{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> hostile{0};
  std::atomic<std::uint64_t> crashed{0};
  std::atomic<std::uint64_t> turned_away{0};  // before anything was read

  [[nodiscard]] std::string as_text() const;
};

}  // namespace cleave::remote::server
