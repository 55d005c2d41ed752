// Platforms and devices: lists of them, and queries.
#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "icd/vendor/functions.h"
#include "icd/vendor/handle_queries.h"
#include "icd/vendor/offered_extensions.h"

namespace cleave::vendor {
namespace {

constexpr char kFunctionSuffix[] = "CLEAVE";
constexpr std::string_view kNameSuffix = " (Cleave)";
constexpr cl_uint kIcdSuffix = 0x0920;        // CL_PLATFORM_ICD_SUFFIX_KHR
constexpr cl_uint kParentDeviceExt = 0x4054;  // CL_DEVICE_PARENT_DEVICE_EXT
constexpr cl_version kIcdVersion = CL_MAKE_VERSION(2, 0, 0);

cl_int give_text(const std::string& text, size_t size, void* value, size_t* size_ret) {
  return write_info(text.c_str(), text.size() + 1, size, value, size_ret);
}

// The whole result of ask(size, value, size_ret), a list of T; empty on errors.
template <typename T, typename Ask>
cl_int query_list(std::vector<T>& list, Ask ask) {
  size_t bytes = 0;
  cl_int error = ask(size_t{0}, nullptr, &bytes);
  if (error != CL_SUCCESS) return error;
  list.resize(bytes / sizeof(T));
  if (!list.empty()) error = ask(bytes, list.data(), nullptr);
  return error;
}

template <typename Ask>
cl_int query_list(std::string& text, Ask ask) {
  std::vector<char> list;
  const cl_int error = query_list(list, ask);
  list.push_back('\0');
  if (error == CL_SUCCESS) text = list.data();
  return error;
}

template <typename Ask>
cl_int give_extensions(size_t size, void* value, size_t* size_ret, Ask ask) {
  std::string text;
  const cl_int error = query_list(text, ask);
  return error == CL_SUCCESS ? give_text(offered_extensions(text), size, value, size_ret) : error;
}

template <typename Ask>
cl_int give_versions(size_t size, void* value, size_t* size_ret, Ask ask) {
  std::vector<cl_name_version> list;
  const cl_int error = query_list(list, ask);
  if (error != CL_SUCCESS) return error;
  remove_unoffered(list);
  for (cl_name_version& extension : list) {
    if (std::strcmp(extension.name, "cl_khr_icd") == 0) extension.version = kIcdVersion;
  }
  return write_info(list.data(), list.size() * sizeof list[0], size, value, size_ret);
}

template <typename Ask>
cl_int give_name(size_t size, void* value, size_t* size_ret, Ask ask) {
  std::string text;
  const cl_int error = query_list(text, ask);
  return error == CL_SUCCESS ? give_text(text.append(kNameSuffix), size, value, size_ret) : error;
}

}  // namespace

cl_int CL_API_CALL clGetPlatformIDs(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  if ((platforms == nullptr && count == nullptr) || (entries == 0 && platforms != nullptr))
    return CL_INVALID_VALUE;
  initialize();
  if (count != nullptr) *count = vendor.platform_count;
  if (vendor.platform_count == 0) return opencl::kPlatformNotFound;
  if (platforms == nullptr) return CL_SUCCESS;
  for (cl_uint i = 0; i < std::min<cl_uint>(entries, vendor.platform_count); ++i)
    platforms[i] = objects::handle_of<cl_platform_id>(vendor.platforms[i].platform);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id handle, cl_platform_info name, size_t size, void* value,
                                     size_t* size_ret) try {
  const Object* const object = vendor.objects.find(handle);
  if (object == nullptr) return CL_INVALID_PLATFORM;
  const auto ask = [&](size_t room, void* place, size_t* needed) {
    return vendor.next->clGetPlatformInfo(static_cast<cl_platform_id>(objects::raw_of(*object)), name, room,
                                          place, needed);
  };
  if (name == kIcdSuffix) return write_info(kFunctionSuffix, sizeof kFunctionSuffix, size, value, size_ret);
  if (name == CL_PLATFORM_EXTENSIONS) return give_extensions(size, value, size_ret, ask);
  if (name == CL_PLATFORM_EXTENSIONS_WITH_VERSION) return give_versions(size, value, size_ret, ask);
  if (name == CL_PLATFORM_NAME && !vendor.original_name) return give_name(size, value, size_ret, ask);
  return ask(size, value, size_ret);
} catch (const std::bad_alloc&) {
  return CL_OUT_OF_HOST_MEMORY;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id handle, cl_device_type type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  Object* const platform = vendor.objects.find(handle);
  if (platform == nullptr) return CL_INVALID_PLATFORM;
  // The number is needed below, so it is always queried from the driver.
  if (devices == nullptr && count == nullptr) return CL_INVALID_VALUE;
  // If the driver does not write the program's number, it keeps its value.
  cl_uint own = 0;
  cl_uint& found = count != nullptr ? *count : own;
  const cl_int error = vendor.next->clGetDeviceIDs(static_cast<cl_platform_id>(objects::raw_of(*platform)),
                                                   type, entries, devices, &found);
  if (error != CL_SUCCESS || devices == nullptr) return error;
  return wrap_handles(Kind::device, devices, std::min(entries, found) * sizeof *devices, *platform);
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id handle, cl_device_info name, size_t size, void* value,
                                   size_t* size_ret) try {
  Object* const object = vendor.objects.find(handle);
  if (object == nullptr) return CL_INVALID_DEVICE;
  const auto ask = [&](size_t room, void* place, size_t* needed) {
    return vendor.next->clGetDeviceInfo(static_cast<cl_device_id>(objects::raw_of(*object)), name, room,
                                        place, needed);
  };
  if (name == CL_DEVICE_EXTENSIONS) return give_extensions(size, value, size_ret, ask);
  if (name == CL_DEVICE_EXTENSIONS_WITH_VERSION) return give_versions(size, value, size_ret, ask);
  if (name != CL_DEVICE_PLATFORM && name != CL_DEVICE_PARENT_DEVICE && name != kParentDeviceExt) {
    return ask(size, value, size_ret);
  }
  return query_handles(
      *object,
      handles::answers(handles::platform(CL_DEVICE_PLATFORM), handles::device(CL_DEVICE_PARENT_DEVICE),
                       handles::device(kParentDeviceExt)),
      name, value, size_ret, [&](size_t* answered) { return ask(size, value, answered); });
} catch (const std::bad_alloc&) {
  return CL_OUT_OF_HOST_MEMORY;
}

}  // namespace cleave::vendor
