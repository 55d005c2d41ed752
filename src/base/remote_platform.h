// How a platform of servers' devices is told from others: by a word in its name. Another library than the
// client's has nothing else to go by.
#pragma once

#include <string_view>

namespace cleave::base {

inline constexpr std::string_view kRemotePlatformSuffix = " (remote)";

// Whether a platform of this name (CL_PLATFORM_NAME) is Cleave's client's. The vendor library puts more
// behind it.
constexpr bool is_remote_platform(std::string_view platform) {
  return platform.find(kRemotePlatformSuffix) != platform.npos;
}

}  // namespace cleave::base
