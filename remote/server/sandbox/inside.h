// What a worker does itself for its isolation, inside the sandbox.
//
// Not thread-safe: before there are threads.
#pragma once

#include "remote/server/sandbox/settings.h"

namespace cleave::remote::server {

// Names the folder that a worker's cache begins as a copy of.
inline constexpr const char* kSeedVariable = "SERVERD_CACHE_SEED";

// Closes what only the start needed, limits the processes where they can be counted for this worker alone, and copies the seed
// of the cache.
void settle_inside(const SandboxSettings& settings);

}  // namespace cleave::remote::server
