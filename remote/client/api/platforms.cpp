// Platform functions. There is one platform, with the devices of all servers.
#include "remote/client/api/api.h"
#include "remote/client/devices/catalog.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {

cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  initialize();
  if ((entries == 0) == (platforms != nullptr) || (platforms == nullptr && count == nullptr))
    return CL_INVALID_VALUE;
  if (count != nullptr) *count = catalog.platform != nullptr ? 1 : 0;
  if (catalog.platform == nullptr) return -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  if (platforms != nullptr) platforms[0] = objects::handle_of<cl_platform_id>(catalog.platform);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id handle, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret) {
  constexpr cl_uint kSuffix = 0x0920;  // CL_PLATFORM_ICD_SUFFIX_KHR
  if (handle == nullptr) initialize();
  if (handle == nullptr ? catalog.platform == nullptr : find(handle) == nullptr) return CL_INVALID_PLATFORM;
  const InfoOutput output{size, value, size_ret};
  const auto text = catalog.platform_texts.find(name);
  if (text != catalog.platform_texts.end()) return output.write_string(text->second);
  switch (name) {
    case kSuffix:
      return output.write_string("CLEAVE");
    case CL_PLATFORM_NUMERIC_VERSION:
      return catalog.platform_version == 0 ? CL_INVALID_VALUE : output.write(catalog.platform_version);
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
      return catalog.platform_version == 0 ? CL_INVALID_VALUE
                                           : output.write_list(catalog.platform_extensions);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
      return catalog.platform_texts[CL_PLATFORM_VERSION] < "OpenCL 2.1"
                 ? CL_INVALID_VALUE
                 : output.write(catalog.timer_resolution);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clIcdSetPlatformDispatchDataKHR(cl_platform_id handle, void* data) {
  Object* const platform = find(handle);
  if (platform == nullptr) return CL_INVALID_PLATFORM;
  platform->dispatch_data = data;
  for (Object* const device : catalog.devices) device->dispatch_data = data;
  return CL_SUCCESS;
}

// Compilers run on the servers, which unload them as they see fit.
cl_int CL_API_CALL clUnloadCompiler() { return CL_SUCCESS; }
cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id handle) {
  return find(handle) == nullptr ? CL_INVALID_PLATFORM : CL_SUCCESS;
}

}  // namespace cleave::remote::client
