// The table of all functions, and the names by which loaders, faces and programs ask for functions.
#include "remote/client/library/entry.h"

#include <string_view>

#include "remote/client/api/api.h"
#include "remote/client/library/describe_server.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/overrides.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

// CL_ICD2_TAG_KHR of cl_khr_icd 2, "OPENCL31".
constexpr std::intptr_t kTag =
    sizeof(void*) == 4 ? std::intptr_t{0x434C3331} : static_cast<std::intptr_t>(0x4F50454E434C3331);

// What the columns `remote` of opencl/functions.def and opencl/extension_functions.def lead to.
struct Functions : Table {
  decltype(&client::get_suggested_local_size) get_suggested_local_size =
      multi_server::get_suggested_local_size;
  void* not_carried = nullptr;
};

const Functions& functions() {
  static const Functions all{multi_server::make_functions()};
  return all;
}

// A face offers the platform; its loader does not know it, so the table must be a plain one.
cl_int CL_API_CALL offer_platforms(cl_uint entries, cl_platform_id* platforms, cl_uint* count,
                                   const Table** table) {
  {
    const std::scoped_lock lock(client.mutex);
    if (!client.started) client.plain_table = true;
  }
  begin();
  if (table != nullptr) *table = &client.table;
  return client::clGetPlatformIDs(entries, platforms, count);
}

}  // namespace

Table make_table() {
  Table table = functions();
  if (client.plain_table) return table;
  // NOLINTBEGIN(performance-no-int-to-ptr): the tag is what cl_khr_icd 2 says
  table.clGetPlatformIDs = reinterpret_cast<decltype(table.clGetPlatformIDs)>(kTag);
  table.clUnloadCompiler = reinterpret_cast<decltype(table.clUnloadCompiler)>(kTag);
  // NOLINTEND(performance-no-int-to-ptr)
  return table;
}

void* find_function(std::string_view name) {
  if (name == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(client::clGetPlatformIDs);
  if (name == "clIcdGetFunctionAddressForPlatformKHR") {
    return reinterpret_cast<void*>(client::clGetExtensionFunctionAddressForPlatform);
  }
  if (name == "clIcdSetPlatformDispatchDataKHR")
    return reinterpret_cast<void*>(clIcdSetPlatformDispatchDataKHR);
  if (name == kDescribeServer) return reinterpret_cast<void*>(describe_server);
  if (name == kOfferPlatforms) return reinterpret_cast<void*>(offer_platforms);
#define CL_EXTENSION(extension, function, interposer, handles, remote, ...) \
  if (name == #function) return reinterpret_cast<void*>(functions().remote);
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
  // Of an extension that is not offered.
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
