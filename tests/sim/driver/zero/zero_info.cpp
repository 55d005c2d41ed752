#include "tests/sim/driver/zero/zero_info.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace cleave::sim::zero {
namespace {

constexpr char extensions[] = "cl_khr_icd cl_khr_suggested_local_work_size";

struct Placement {
  std::size_t capacity;
  void* value;
  std::size_t* size;
};

cl_int bytes(const Placement& place, const void* data, std::size_t size) {
  if (place.size != nullptr) *place.size = size;
  if (place.value == nullptr) return CL_SUCCESS;
  if (place.capacity < size) return CL_INVALID_VALUE;
  if (size > 0) std::memcpy(place.value, data, size);
  return CL_SUCCESS;
}

template <class T>
cl_int value(const Placement& place, const T& given) {
  return bytes(place, &given, sizeof given);
}

template <std::size_t n>
cl_int text(const Placement& place, const char (&given)[n]) {
  return bytes(place, given, n);
}

constexpr cl_uint one = 1;

cl_int CL_API_CALL platform_info(cl_platform_id, cl_platform_info name, std::size_t capacity, void* to,
                                 std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_PLATFORM_PROFILE:
      return text(place, "FULL_PROFILE");
    case CL_PLATFORM_VERSION:
      return text(place, "OpenCL 3.0 zero");
    case CL_PLATFORM_NUMERIC_VERSION:
      return value<cl_version>(place, CL_MAKE_VERSION(3, 0, 0));
    case CL_PLATFORM_NAME:
      return text(place, "Cleave zero-cost platform");
    case CL_PLATFORM_VENDOR:
      return text(place, "Cleave");
    case CL_PLATFORM_EXTENSIONS:
      return text(place, extensions);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return text(place, "ZERO");
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int device_text(const Placement& place, cl_device_info name) {
  switch (name) {
    case CL_DEVICE_NAME:
      return text(place, "Zero-cost device");
    case CL_DEVICE_VENDOR:
      return text(place, "Cleave");
    case CL_DRIVER_VERSION:
      return text(place, "1.0");
    case CL_DEVICE_PROFILE:
      return text(place, "FULL_PROFILE");
    case CL_DEVICE_VERSION:
      return text(place, "OpenCL 3.0 zero");
    case CL_DEVICE_OPENCL_C_VERSION:
      return text(place, "OpenCL C 1.2 zero");
    case CL_DEVICE_EXTENSIONS:
      return text(place, extensions);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL device_info(cl_device_id, cl_device_info name, std::size_t capacity, void* to,
                               std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_DEVICE_TYPE:
      return value<cl_device_type>(place, CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_VENDOR_ID:
      return value<cl_uint>(place, 0x10001);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return value<cl_uint>(place, 16);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      return value<cl_uint>(place, 3);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return value<std::size_t>(place, 1024);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      return value(place, std::array<std::size_t, 3>{1024, 1024, 64});
    case CL_DEVICE_ADDRESS_BITS:
      return value<cl_uint>(place, 64);
    case CL_DEVICE_PLATFORM:
      return value(place, handle<cl_platform_id>());
    case CL_DEVICE_PARENT_DEVICE:
      return value(place, cl_device_id{});
    case CL_DEVICE_NUMERIC_VERSION:
      return value<cl_version>(place, CL_MAKE_VERSION(3, 0, 0));
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT:
      return value<cl_bool>(place, CL_TRUE);
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
      return value<cl_command_queue_properties>(
          place, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    case CL_DEVICE_REFERENCE_COUNT:
      return value(place, one);
    default:
      return device_text(place, name);
  }
}

cl_int CL_API_CALL context_info(cl_context, cl_context_info name, std::size_t capacity, void* to,
                                std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT:
    case CL_CONTEXT_NUM_DEVICES:
      return value(place, one);
    case CL_CONTEXT_DEVICES:
      return value(place, handle<cl_device_id>());
    case CL_CONTEXT_PROPERTIES:
      return bytes(place, nullptr, 0);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL queue_info(cl_command_queue, cl_command_queue_info name, std::size_t capacity, void* to,
                              std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_QUEUE_CONTEXT:
      return value(place, handle<cl_context>());
    case CL_QUEUE_DEVICE:
      return value(place, handle<cl_device_id>());
    case CL_QUEUE_REFERENCE_COUNT:
      return value(place, one);
    case CL_QUEUE_PROPERTIES:
      return value<cl_command_queue_properties>(place, CL_QUEUE_PROFILING_ENABLE);
    case CL_QUEUE_PROPERTIES_ARRAY:
      return bytes(place, nullptr, 0);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL program_info(cl_program, cl_program_info name, std::size_t capacity, void* to,
                                std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
    case CL_PROGRAM_NUM_DEVICES:
      return value(place, one);
    case CL_PROGRAM_CONTEXT:
      return value(place, handle<cl_context>());
    case CL_PROGRAM_DEVICES:
      return value(place, handle<cl_device_id>());
    case CL_PROGRAM_SOURCE:
      return text(place, "kernel void zero() {}");
    case CL_PROGRAM_NUM_KERNELS:
      return value<std::size_t>(place, 1);
    case CL_PROGRAM_KERNEL_NAMES:
      return text(place, "zero");
    case CL_PROGRAM_BINARY_SIZES:
      return value<std::size_t>(place, 0);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL build_info(cl_program, cl_device_id, cl_program_build_info name, std::size_t capacity,
                              void* to, std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_PROGRAM_BUILD_STATUS:
      return value<cl_build_status>(place, CL_BUILD_SUCCESS);
    case CL_PROGRAM_BUILD_OPTIONS:
    case CL_PROGRAM_BUILD_LOG:
      return text(place, "");
    case CL_PROGRAM_BINARY_TYPE:
      return value<cl_program_binary_type>(place, CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL kernel_info(cl_kernel, cl_kernel_info name, std::size_t capacity, void* to,
                               std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_KERNEL_FUNCTION_NAME:
      return text(place, "zero");
    case CL_KERNEL_NUM_ARGS:
      return value<cl_uint>(place, 0);
    case CL_KERNEL_REFERENCE_COUNT:
      return value(place, one);
    case CL_KERNEL_CONTEXT:
      return value(place, handle<cl_context>());
    case CL_KERNEL_PROGRAM:
      return value(place, handle<cl_program>());
    case CL_KERNEL_ATTRIBUTES:
      return text(place, "");
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL work_group_info(cl_kernel, cl_device_id, cl_kernel_work_group_info name,
                                   std::size_t capacity, void* to, std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE:
      return value<std::size_t>(place, 1024);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
      return value(place, std::array<std::size_t, 3>{});
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return value<std::size_t>(place, 32);
    case CL_KERNEL_LOCAL_MEM_SIZE:
    case CL_KERNEL_PRIVATE_MEM_SIZE:
      return value<cl_ulong>(place, 0);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL memory_info(cl_mem, cl_mem_info name, std::size_t capacity, void* to, std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_MEM_TYPE:
      return value<cl_mem_object_type>(place, CL_MEM_OBJECT_BUFFER);
    case CL_MEM_FLAGS:
      return value<cl_mem_flags>(place, CL_MEM_READ_WRITE);
    case CL_MEM_SIZE:
      return value<std::size_t>(place, 1 << 16);
    case CL_MEM_REFERENCE_COUNT:
      return value(place, one);
    case CL_MEM_CONTEXT:
      return value(place, handle<cl_context>());
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL event_info(cl_event, cl_event_info name, std::size_t capacity, void* to,
                              std::size_t* size) {
  const Placement place{capacity, to, size};
  switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
      return value(place, handle<cl_command_queue>());
    case CL_EVENT_CONTEXT:
      return value(place, handle<cl_context>());
    case CL_EVENT_COMMAND_TYPE:
      return value<cl_command_type>(place, CL_COMMAND_NDRANGE_KERNEL);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return value<cl_int>(place, CL_COMPLETE);
    case CL_EVENT_REFERENCE_COUNT:
      return value(place, one);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL profiling_info(cl_event, cl_profiling_info name, std::size_t capacity, void* to,
                                  std::size_t* size) {
  if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_COMPLETE) return CL_INVALID_VALUE;
  return value<cl_ulong>({capacity, to, size}, 1 + name - CL_PROFILING_COMMAND_QUEUED);
}

}  // namespace

void bind_handles(const cl_icd_dispatch& table) {
  object<cl_platform_id>.dispatch = &table;
  object<cl_device_id>.dispatch = &table;
  object<cl_context>.dispatch = &table;
  object<cl_command_queue>.dispatch = &table;
  object<cl_mem>.dispatch = &table;
  object<cl_sampler>.dispatch = &table;
  object<cl_program>.dispatch = &table;
  object<cl_kernel>.dispatch = &table;
  object<cl_event>.dispatch = &table;
}

void add_info_functions(cl_icd_dispatch& table) {
  table.clGetPlatformInfo = platform_info;
  table.clGetDeviceInfo = device_info;
  table.clGetContextInfo = context_info;
  table.clGetCommandQueueInfo = queue_info;
  table.clGetProgramInfo = program_info;
  table.clGetProgramBuildInfo = build_info;
  table.clGetKernelInfo = kernel_info;
  table.clGetKernelWorkGroupInfo = work_group_info;
  table.clGetMemObjectInfo = memory_info;
  table.clGetEventInfo = event_info;
  table.clGetEventProfilingInfo = profiling_info;
}

}  // namespace cleave::sim::zero
