// Recognises a platform of remote devices by a suffix in its name, the only criterion that libraries other than the
// remote client have.
#pragma once

#include <string_view>

namespace cleave::base {

inline constexpr std::string_view kRemotePlatformSuffix = " (remote)";

// Whether a platform of this name (CL_PLATFORM_NAME) is one of Cleave's remote client. The vendor library may
// append to the name.
constexpr bool is_remote_platform(std::string_view platform) {
  return platform.find(kRemotePlatformSuffix) != platform.npos;
}

}  // namespace cleave::base
