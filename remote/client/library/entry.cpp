#include "remote/client/library/entry.h"

#include <string_view>

#include "base/driver_platform.h"
#include "remote/client/api/api.h"
#include "remote/client/library/describe_server.h"
#include "remote/client/library/dispatch_table.h"
#include "remote/client/library/startup.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

// What the columns `remote` of opencl/functions.def and opencl/extension_functions.def lead to.
struct Functions : Table {
  decltype(&client::get_suggested_local_size) get_suggested_local_size =
      multi_server::get_suggested_local_size;
  void* not_carried = nullptr;
};

const Functions& all_functions() {
  static const Functions all{functions()};
  return all;
}

cl_int CL_API_CALL offer_platforms(cl_uint entries, cl_platform_id* platforms, cl_uint* count,
                                   const Table** table) {
  use_plain_table();
  initialize();
  if (table != nullptr) *table = &platform_table();
  return client::clGetPlatformIDs(entries, platforms, count);
}

// Of the one platform, which is Cleave's own.
cl_int CL_API_CALL get_driver_platform_info(cl_platform_id platform, cl_platform_info name, size_t size,
                                            void* value, size_t* size_ret) try {
  if (find(platform) == nullptr) return CL_INVALID_PLATFORM;
  if (name != base::kPlatformIsRemote)
    return client::clGetPlatformInfo(platform, name, size, value, size_ret);
  return InfoOutput{size, value, size_ret}.write(cl_bool{CL_TRUE});
} catch (...) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace

void* find_function(std::string_view name) {
  if (name == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(client::clGetPlatformIDs);
  if (name == "clIcdGetFunctionAddressForPlatformKHR") {
    return reinterpret_cast<void*>(client::clGetExtensionFunctionAddressForPlatform);
  }
  if (name == "clIcdSetPlatformDispatchDataKHR")
    return reinterpret_cast<void*>(clIcdSetPlatformDispatchDataKHR);
  if (name == kDescribeServer) return reinterpret_cast<void*>(describe_server);
  if (name == base::kGetDriverPlatformInfo) return reinterpret_cast<void*>(get_driver_platform_info);
  if (name == kOfferPlatforms) return reinterpret_cast<void*>(offer_platforms);
#define CL_EXTENSION(extension, function, interposer, handles, remote, ...) \
  if (name == #function) return reinterpret_cast<void*>(all_functions().remote);
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
  // Functions of extensions that are not supported.
  const bool absent = name.find("GL") != std::string_view::npos || name.ends_with("EXT");
  if (absent) return nullptr;
#define CL_FUNCTION(version, function, ...) \
  if (name == #function) return reinterpret_cast<void*>(functions().function);
#include "opencl/functions.def"
#undef CL_FUNCTION
  return nullptr;
}

void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return name == nullptr ? nullptr : find_function(name);
}

void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char* name) {
  return name == nullptr || find(platform) == nullptr ? nullptr : find_function(name);
}

}  // namespace cleave::remote::client
