// The doors of the library: what loaders and faces ask for by name.
#pragma once

#include <string_view>

#include "base/opencl.h"

namespace cleave::remote::client {

// What a face calls that offers the platforms itself: clGetPlatformIDs, and the table of all functions beside
// it.
inline constexpr const char* kOfferPlatforms = "clOfferPlatformsCLEAVE";
// And what the command calls (describe.h).
inline constexpr const char* kDescribeServer = "clDescribeServerCLEAVE";

// Of OpenCL, of the extensions that are offered, and the two above; null for others.
void* find_function(std::string_view name);

}  // namespace cleave::remote::client
