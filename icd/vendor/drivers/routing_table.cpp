#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "icd/vendor/drivers/driver.h"
#include "icd/vendor/state.h"
#include "objects/kind.h"
#include "opencl/missing_functions.h"

namespace cleave::vendor::drivers {
namespace {

// For the functions without a handle.
std::span<const WrappedPlatform> wrapped_platforms() {
  return std::span(vendor.platforms).first(vendor.platform_count);
}

template <auto Entry>
using FunctionOf = std::remove_cvref_t<decltype(std::declval<Table>().*Entry)>;

// Calls `Entry` of the driver that `object` belongs to.
template <auto Entry, typename... Arguments>
auto call_through(const void* object, Arguments... arguments) {
  using Function = FunctionOf<Entry>;
  const Function function = object == nullptr ? nullptr : table_of(object).*Entry;
  return (function != nullptr ? function : opencl::MissingFunction<Function>::call)(arguments...);
}

// For functions whose first parameter is a handle, which are nearly all.
template <auto Entry, typename Function = FunctionOf<Entry>>
struct RoutedByFirstHandle {
  static constexpr std::nullptr_t call = nullptr;
};

template <auto Entry, typename Result, objects::OpenClHandle Handle, typename... Parameters>
struct RoutedByFirstHandle<Entry, Result(CL_API_CALL*)(Handle, Parameters...)> {
  static Result CL_API_CALL call(Handle handle, Parameters... parameters) {
    return call_through<Entry>(handle, handle, parameters...);
  }
};

cl_platform_id platform_in(const cl_context_properties* properties) {
  for (; properties != nullptr && properties[0] != 0; properties += 2) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): so are handles in property lists
    if (properties[0] == CL_CONTEXT_PLATFORM) return reinterpret_cast<cl_platform_id>(properties[1]);
  }
  return wrapped_platforms().empty() ? nullptr : wrapped_platforms().front().driver.platform;
}

// For functions whose parameters are the length of an array of handles, and the array.
template <auto Entry, typename Handle>
cl_int CL_API_CALL routed_by_list(cl_uint count, const Handle* list) {
  return call_through<Entry>(count == 0 || list == nullptr ? nullptr : list[0], count, list);
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                      void* user_data, cl_int* error) {
  const void* const first =
      count == 0 || devices == nullptr ? static_cast<const void*>(platform_in(properties)) : devices[0];
  return call_through<&Table::clCreateContext>(first, properties, count, devices, notify, user_data, error);
}

cl_context CL_API_CALL create_context_from_type(const cl_context_properties* properties, cl_device_type type,
                                                void(CL_CALLBACK* notify)(const char*, const void*, size_t,
                                                                          void*),
                                                void* user_data, cl_int* error) {
  return call_through<&Table::clCreateContextFromType>(platform_in(properties), properties, type, notify,
                                                       user_data, error);
}

cl_int CL_API_CALL get_gl_context_info(const cl_context_properties* properties, cl_gl_context_info name,
                                       size_t size, void* value, size_t* size_ret) {
  return call_through<&Table::clGetGLContextInfoKHR>(platform_in(properties), properties, name, size, value,
                                                     size_ret);
}

cl_int CL_API_CALL get_platform_ids(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  if ((platforms == nullptr && count == nullptr) || (entries == 0 && platforms != nullptr))
    return CL_INVALID_VALUE;
  if (count != nullptr) *count = vendor.platform_count;
  if (wrapped_platforms().empty()) return opencl::kPlatformNotFound;
  for (std::size_t i = 0; platforms != nullptr && i < entries && i < wrapped_platforms().size(); ++i) {
    platforms[i] = wrapped_platforms()[i].driver.platform;
  }
  return CL_SUCCESS;
}

// Of all drivers that have the newer function.
cl_int CL_API_CALL unload_compiler() {
  for (const WrappedPlatform& wrapped : wrapped_platforms()) {
    const auto function = table_of(wrapped.driver.platform).clUnloadPlatformCompiler;
    if (function != nullptr) function(wrapped.driver.platform);
  }
  return CL_SUCCESS;
}

void* CL_API_CALL find_for_platform(cl_platform_id platform, const char* name) {
  for (const WrappedPlatform& wrapped : wrapped_platforms()) {
    if (wrapped.driver.platform == platform) return wrapped.driver.find(name);
  }
  return nullptr;
}

void* CL_API_CALL find_in_any_platform(const char* name) {
  for (const WrappedPlatform& wrapped : wrapped_platforms()) {
    if (void* const found = wrapped.driver.find(name)) return found;
  }
  return nullptr;
}

}  // namespace

Table make_table() {
  Table table{};
  table.clGetPlatformIDs = get_platform_ids;
  table.clUnloadCompiler = unload_compiler;
  table.clCreateContext = create_context;
  table.clCreateContextFromType = create_context_from_type;
  table.clGetGLContextInfoKHR = get_gl_context_info;
  table.clWaitForEvents = routed_by_list<&Table::clWaitForEvents, cl_event>;
  table.clGetExtensionFunctionAddress = find_in_any_platform;
  table.clGetExtensionFunctionAddressForPlatform = find_for_platform;
#define CL_FUNCTION(version, name, ...) \
  if (table.name == nullptr) table.name = RoutedByFirstHandle<&Table::name>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
  opencl::fill_missing_functions(table);
  return table;
}

}  // namespace cleave::vendor::drivers
