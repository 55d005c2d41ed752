// Functions that loaders and programs look up by name.
#include <string_view>

#include "base/driver_platform.h"
#include "cleave/cleave.h"
#include "icd/vendor/loader_interface.h"
#include "icd/vendor/translations.h"
#include "interpose/calls/table.h"

namespace cleave::vendor {
namespace {

// clGetCleaveInfo for programs; the interposer's takes the driver's device.
cl_int CL_API_CALL get_cleave_info(cl_device_id handle, cl_cleave_info name, size_t size, void* value,
                                   size_t* size_ret) {
  const Object* const device = handle == nullptr ? nullptr : vendor.objects.find(handle);
  if (handle != nullptr && device == nullptr) return CL_INVALID_DEVICE;
  auto* const ask = reinterpret_cast<clGetCleaveInfo_fn>(
      vendor.next->clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME));
  if (ask == nullptr) return CL_INVALID_OPERATION;
  return ask(device == nullptr ? nullptr : static_cast<cl_device_id>(objects::raw_of(*device)), name, size,
             value, size_ret);
}

cl_int CL_API_CALL get_driver_platform_info(cl_platform_id handle, cl_platform_info name, size_t size,
                                            void* value, size_t* size_ret) {
  const Object* const platform = vendor.objects.find(handle);
  if (platform == nullptr) return CL_INVALID_PLATFORM;
  return base::get_driver_platform_info(*vendor.next, static_cast<cl_platform_id>(objects::raw_of(*platform)),
                                        name, size, value, size_ret);
}

void* ours(std::string_view name) {
  if (name == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(clGetPlatformIDs);
  if (name == "clIcdGetFunctionAddressForPlatformKHR") {
    return reinterpret_cast<void*>(clGetExtensionFunctionAddressForPlatform);
  }
  if (name == "clIcdSetPlatformDispatchDataKHR") return reinterpret_cast<void*>(set_platform_dispatch_data);
  if (name == CL_CLEAVE_GET_INFO_NAME || name == "clGetCleaveInfoCLEAVE") {
    return reinterpret_cast<void*>(get_cleave_info);
  }
  if (name == base::kGetDriverPlatformInfo) return reinterpret_cast<void*>(get_driver_platform_info);
  if (name == interpose::kStandAside) return reinterpret_cast<void*>(interpose::stand_aside);
  return nullptr;
}

// A function of an extension in the dispatch table is only returned if the driver has it.
bool is_optional(std::string_view name) { return name.ends_with("KHR") || name.ends_with("EXT"); }

void* find_in_table(std::string_view wanted, const WrappedPlatform& wrapped) {
#define CL_FUNCTION(version, name, ...)                                                                    \
  if (wanted == #name) {                                                                                   \
    if (is_optional(wanted) && drivers::table_of(wrapped.driver.platform).name == nullptr) return nullptr; \
    return reinterpret_cast<void*>(translated<&Table::name>());                                            \
  }
#include "opencl/functions.def"
#undef CL_FUNCTION
  return nullptr;
}

void* find_extension(std::string_view wanted, const WrappedPlatform& wrapped) {
#define CL_EXTENSION(extension, name, ...)                                   \
  if (wanted == #name) {                                                     \
    if (wrapped.extensions.name == nullptr) return nullptr;                  \
    return reinterpret_cast<void*>(translated<&ExtensionFunctions::name>()); \
  }
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
  return nullptr;
}

void* find(std::string_view name, const WrappedPlatform& wrapped) {
  if (void* const found = find_in_table(name, wrapped)) return found;
  return find_extension(name, wrapped);
}

}  // namespace

void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  if (name == nullptr) return nullptr;
  if (void* const found = ours(name)) return found;
  initialize();
  for (std::uint16_t i = 0; i < vendor.platform_count; ++i) {
    if (void* const found = find(name, vendor.platforms[i])) return found;
  }
  return nullptr;
}

void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id handle, const char* name) {
  const Object* const platform = vendor.objects.find(handle);
  if (platform == nullptr || name == nullptr) return nullptr;
  if (void* const found = ours(name)) return found;
  return find(name, platform_of(*platform));
}

}  // namespace cleave::vendor
