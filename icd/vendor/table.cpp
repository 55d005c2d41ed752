#include <string_view>

#include "icd/vendor/loader_interface.h"
#include "icd/vendor/translations.h"

namespace cleave::vendor {
namespace {

// Lists of properties look like any other list of numbers to types; their names tell them. Each needs
// somebody who knows whether it can hold handles.
constexpr bool mentions_properties(std::string_view parameters) {
  return parameters.find("_properties*") != std::string_view::npos ||
         parameters.find("_properties *") != std::string_view::npos;
}

#define CL_FUNCTION(version, result, name, parameters, arguments)                                    \
  static_assert(!mentions_properties(#parameters) || kTypesAreEnough<&Table::name> ||                \
                    !std::is_null_pointer_v<std::remove_cv_t<decltype(kHandWritten<&Table::name>)>>, \
                "properties may hold handles: write " #name " by hand, or say that they do not (own.h)");
#include "opencl/functions.def"
#undef CL_FUNCTION

}  // namespace

Table make_dispatch_table() {
  Table table{};
#define CL_FUNCTION(version, result, name, parameters, arguments) table.name = translated<&Table::name>();
#include "opencl/functions.def"
#undef CL_FUNCTION
  // Loaders call these two by the library, not through an object.
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
