// What the supervisor sees of a worker's memory, whatever code runs in it.
//
// Thread-safe: plain functions. May throw std::bad_alloc.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "remote/server/session/limits.h"

namespace cleave::remote::server {

// Bytes of private memory that are resident, of a process and all that it has started.
[[nodiscard]] std::uint64_t memory_of_tree(pid_t process);

// The most that a worker and all its processes may have. The worker itself refuses to make objects before that (growth_for()); what
// a build needs comes on top. `memory`: of its client; UINT64_MAX: no limit, and then all of the machine's but a sixteenth.
[[nodiscard]] std::uint64_t most_of_worker(std::uint64_t memory, const ClientLimits& limits);

}  // namespace cleave::remote::server
