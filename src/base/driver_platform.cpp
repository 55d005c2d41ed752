#include "base/driver_platform.h"

namespace cleave::base {

cl_int get_driver_platform_info(const Table& below, cl_platform_id platform, cl_platform_info what,
                                std::size_t size, void* value, std::size_t* size_ret) noexcept {
  void* offered = below.clGetExtensionFunctionAddressForPlatform(platform, kGetDriverPlatformInfo);
  if (offered == nullptr) offered = below.clGetExtensionFunctionAddress(kGetDriverPlatformInfo);
  if (offered != nullptr) {
    const cl_int error =
        reinterpret_cast<GetDriverPlatformInfo>(offered)(platform, what, size, value, size_ret);
    if (error != CL_INVALID_PLATFORM) return error;  // by the older query it may be another platform's
  }
  // Some drivers print a line about parameters that they do not know.
  if (what == kPlatformIsRemote) return CL_INVALID_VALUE;
  return below.clGetPlatformInfo(platform, what, size, value, size_ret);
}

PlatformText driver_platform_text(const Table& below, cl_platform_id platform,
                                  cl_platform_info what) noexcept {
  PlatformText text{};
  if (get_driver_platform_info(below, platform, what, text.size() - 1, text.data(), nullptr) != CL_SUCCESS)
    text = {};
  return text;
}

bool is_remote_platform(const Table& below, cl_platform_id platform) noexcept {
  cl_bool remote = CL_FALSE;
  return get_driver_platform_info(below, platform, kPlatformIsRemote, sizeof remote, &remote, nullptr) ==
             CL_SUCCESS &&
         remote == CL_TRUE;
}

}  // namespace cleave::base
