// What a platform is, whatever names programs are shown.
//
// The vendor library and the remote client may present a platform by another name than its driver's
// (platform_names). Cleave's own decisions depend on the driver, so they query it through a function that both libraries offer
// by name; any other platform is its driver's, and is queried with clGetPlatformInfo.
//
// Thread-safe: no state.
#pragma once

#include <array>
#include <cstddef>

#include "base/opencl.h"

namespace cleave::base {

// The function, for clGetExtensionFunctionAddressForPlatform. It answers like clGetPlatformInfo, for a handle of the
// library that offers it: as the driver does, and also for kPlatformIsRemote.
inline constexpr const char* kGetDriverPlatformInfo = "clGetDriverPlatformInfoCLEAVE";
using GetDriverPlatformInfo = cl_int(CL_API_CALL*)(cl_platform_id, cl_platform_info, std::size_t, void*,
                                                   std::size_t*);

// cl_bool: whether the platform's devices are servers'.
inline constexpr cl_platform_info kPlatformIsRemote = 0x4C80;

// Null-terminated; empty if the driver does not answer, truncated if the text is longer.
using PlatformText = std::array<char, 256>;

// Answers as the function above, for a platform of `below`, which may have one or not. `below` is a complete table.
cl_int get_driver_platform_info(const Table& below, cl_platform_id platform, cl_platform_info what,
                                std::size_t size, void* value, std::size_t* size_ret) noexcept;

PlatformText driver_platform_text(const Table& below, cl_platform_id platform,
                                  cl_platform_info what) noexcept;

bool is_remote_platform(const Table& below, cl_platform_id platform) noexcept;

}  // namespace cleave::base
