#include "icd/vendor/loader_interface.h"
#include "icd/vendor/translations.h"

namespace cleave::vendor {
Table make_dispatch_table() {
  Table table{};
#define CL_FUNCTION(version, name, ...) table.name = translated<&Table::name>();
#include "opencl/functions.def"
#undef CL_FUNCTION
  // Loaders do not call these two through an object.
  // NOLINTBEGIN(performance-no-int-to-ptr): the tag is what cl_khr_icd 2 says
  table.clGetPlatformIDs = reinterpret_cast<decltype(table.clGetPlatformIDs)>(drivers::kIcd2Tag);
  table.clUnloadCompiler = reinterpret_cast<decltype(table.clUnloadCompiler)>(drivers::kIcd2Tag);
  // NOLINTEND(performance-no-int-to-ptr)
  return table;
}

cl_int CL_API_CALL set_platform_dispatch_data(cl_platform_id handle, void* data) {
  Object* const platform = vendor.objects.find(handle);
  if (platform == nullptr) return CL_INVALID_PLATFORM;
  platform->dispatch_data = data;
  return CL_SUCCESS;
}

}  // namespace cleave::vendor
