// What the supervisor sees of a worker's memory, whatever code runs in it.
//
// Thread-safe: plain functions. May throw std::bad_alloc.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "remote/server/options/limits.h"

namespace cleave::remote::server {

// Bytes of memory of a process and all that it has started, resident or swapped out, without what is in files: no less than they have.
// What several have in common counts for each: pages that a child has not written yet, shared memory.
[[nodiscard]] std::uint64_t memory_of_tree(pid_t process);

// The same with each page counted once, divided among all that have it; but twice for a moment, until a child that borrows its
// parent's memory executes its program. Walks the page tables: 10 ms or so for each GiB. Processes for which there is no time any more, or at
// which this one may not look, count as in memory_of_tree().
[[nodiscard]] std::uint64_t own_memory_of_tree(pid_t process);

// The most that a worker and all its processes may have. The worker itself refuses to make objects before that (growth_for()); what
// a build needs comes on top. `memory`: of its client; UINT64_MAX: no limit, and then all of the machine's but a sixteenth.
[[nodiscard]] std::uint64_t most_of_worker(std::uint64_t memory, const ClientLimits& limits);

}  // namespace cleave::remote::server
