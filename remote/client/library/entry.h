// The entry points of the library: functions that loaders, faces and programs look up by name.
//
// Thread-safe: pure.
#pragma once

#include <string_view>

#include "base/opencl.h"

namespace cleave::remote::client {

// For faces that offer the platforms themselves: clGetPlatformIDs that also returns the table of all functions.
inline constexpr const char* kOfferPlatforms = "clOfferPlatformsCLEAVE";
// For the `cleave` command (describe_server.h).
inline constexpr const char* kDescribeServer = "clDescribeServerCLEAVE";

// Functions of OpenCL and of supported extensions, the two above, and base::kGetDriverPlatformInfo. Null for others.
void* find_function(std::string_view name);

}  // namespace cleave::remote::client
