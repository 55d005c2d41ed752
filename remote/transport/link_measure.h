// What is known of the way that a connection's data takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace cleave::remote {

struct LinkMeasure {
  std::uint64_t bytes_per_second = 0;       // as delivered to the peer lately; 0: not known
  bool is_limit = false;                    // the link was busy all the time; else it may carry more
  std::chrono::microseconds round_trip{0};  // the shortest one
};

// Of a connected TCP socket, from the kernel, which measures all the time; a system call of less than a microsecond. Empty:
// another kind of socket, or a kernel before 4.9. Thread-safe.
std::optional<LinkMeasure> measure_tcp(int socket);

}  // namespace cleave::remote
