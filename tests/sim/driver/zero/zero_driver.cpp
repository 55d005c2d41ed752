#include "tests/sim/driver/zero/zero_driver.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "tests/sim/driver/zero/zero_info.h"

namespace cleave::sim {
namespace {

using zero::handle;

// What clEnqueueMap... and clSVMAlloc give. Its contents are never used.
alignas(128) std::array<std::byte, 1 << 16> scratch;

template <class Result>
Result result_of() {
  if constexpr (std::is_same_v<Result, void*>) {
    return scratch.data();
  } else if constexpr (std::is_same_v<Result, cl_int>) {
    return CL_SUCCESS;
  } else {
    return handle<Result>();
  }
}

void finish_out(cl_int* errcode) {
  if (errcode != nullptr) *errcode = CL_SUCCESS;
}
void finish_out(cl_event* event) {
  if (event != nullptr) *event = handle<cl_event>();
}
template <class T>
void finish_out(const T&) {}

// The event of a map comes before its errcode_ret, that of all other commands is last.
template <class... A>
void finish_all(const A&... arguments) {
  const std::tuple<const A&...> all(arguments...);
  constexpr std::size_t count = sizeof...(A);
  if constexpr (count >= 1) finish_out(std::get<count - 1>(all));
  if constexpr (count >= 2) finish_out(std::get<count - 2>(all));
}

template <class Pointer>
struct Success;
template <class Result, class... A>
struct Success<Result(CL_API_CALL*)(A...)> {
  static Result CL_API_CALL call(A... arguments) noexcept {
    finish_all(arguments...);
    if constexpr (!std::is_void_v<Result>) return result_of<Result>();
  }
};

template <class Pointer>
struct Failure;
template <class Result, class... A>
struct Failure<Result(CL_API_CALL*)(A...)> {
  static Result CL_API_CALL call(A... arguments) noexcept {
    if constexpr (std::is_same_v<Result, cl_int>) {
      return CL_INVALID_VALUE;
    } else {
      cl_int* errcode = std::get<sizeof...(A) - 1>(std::tuple<A...>(arguments...));
      if (errcode != nullptr) *errcode = CL_INVALID_OPERATION;
      return nullptr;
    }
  }
};

template <class Pointer>
void succeed(Pointer& slot) {
  slot = &Success<Pointer>::call;
}
template <class Pointer>
void fail(Pointer& slot) {
  slot = &Failure<Pointer>::call;
}

cl_int CL_API_CALL get_platform_ids(cl_uint entries, cl_platform_id* platforms, cl_uint* count) {
  if (platforms != nullptr && entries > 0) *platforms = handle<cl_platform_id>();
  if (count != nullptr) *count = 1;
  return CL_SUCCESS;
}

cl_int CL_API_CALL get_device_ids(cl_platform_id, cl_device_type type, cl_uint entries, cl_device_id* devices,
                                  cl_uint* count) {
  if ((type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) == 0) return CL_DEVICE_NOT_FOUND;
  if (devices != nullptr && entries > 0) *devices = handle<cl_device_id>();
  if (count != nullptr) *count = 1;
  return CL_SUCCESS;
}

cl_int CL_API_CALL create_kernels(cl_program, cl_uint entries, cl_kernel* kernels, cl_uint* count) {
  if (kernels != nullptr && entries > 0) *kernels = handle<cl_kernel>();
  if (count != nullptr) *count = 1;
  return CL_SUCCESS;
}

cl_int CL_API_CALL suggested_local_size(cl_command_queue, cl_kernel, cl_uint dims, const std::size_t*,
                                        const std::size_t*, std::size_t* local) {
  for (cl_uint d = 0; d < dims; ++d) local[d] = d == 0 ? 64 : 1;
  return CL_SUCCESS;
}

void* CL_API_CALL extension_address(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (wanted == "clIcdGetPlatformIDsKHR") return zero_icd_platform_ids_address();
  if (wanted == "clGetKernelSuggestedLocalWorkSizeKHR") return reinterpret_cast<void*>(&suggested_local_size);
  if (wanted == "clCreateCommandQueueWithPropertiesKHR") {
    return reinterpret_cast<void*>(zero_table().clCreateCommandQueueWithProperties);
  }
  return nullptr;
}

void* CL_API_CALL extension_address_for_platform(cl_platform_id, const char* name) {
  return extension_address(name);
}

void refuse_what_is_not_there(cl_icd_dispatch& table) {
  fail(table.clCreateFromGLBuffer);
  fail(table.clCreateFromGLTexture);
  fail(table.clCreateFromGLTexture2D);
  fail(table.clCreateFromGLTexture3D);
  fail(table.clCreateFromGLRenderbuffer);
  fail(table.clGetGLObjectInfo);
  fail(table.clGetGLTextureInfo);
  fail(table.clGetGLContextInfoKHR);
  fail(table.clEnqueueAcquireGLObjects);
  fail(table.clEnqueueReleaseGLObjects);
  fail(table.clCreateEventFromGLsyncKHR);
  fail(table.clCreateFromEGLImageKHR);
  fail(table.clEnqueueAcquireEGLObjectsKHR);
  fail(table.clEnqueueReleaseEGLObjectsKHR);
  fail(table.clCreateEventFromEGLSyncKHR);
  fail(table.clCreatePipe);
  fail(table.clGetPipeInfo);
  fail(table.clCreateSubDevices);
  fail(table.clCreateSubDevicesEXT);
  fail(table.clGetSupportedImageFormats);
  fail(table.clGetImageInfo);
  fail(table.clGetSamplerInfo);
  fail(table.clGetKernelArgInfo);
  fail(table.clGetKernelSubGroupInfo);
  fail(table.clGetKernelSubGroupInfoKHR);
  fail(table.clGetHostTimer);
  fail(table.clGetDeviceAndHostTimer);
}

cl_icd_dispatch make_table() {
  cl_icd_dispatch table{};
#define CL_FUNCTION(version, name, ...) succeed(table.name);
#include "opencl/functions.def"
#undef CL_FUNCTION
  refuse_what_is_not_there(table);
  table.clGetPlatformIDs = get_platform_ids;
  table.clGetDeviceIDs = get_device_ids;
  table.clCreateKernelsInProgram = create_kernels;
  table.clGetExtensionFunctionAddress = extension_address;
  table.clGetExtensionFunctionAddressForPlatform = extension_address_for_platform;
  zero::add_info_functions(table);
  return table;
}

}  // namespace

const cl_icd_dispatch& zero_table() {
  static const cl_icd_dispatch table = make_table();
  static const bool bound = (zero::bind_handles(table), true);
  static_cast<void>(bound);
  return table;
}

void* zero_icd_platform_ids_address() {
  zero_table();
  return reinterpret_cast<void*>(&get_platform_ids);
}

}  // namespace cleave::sim
