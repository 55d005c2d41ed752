#include "tests/sim/driver/zero/zero_info.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace cleave::sim::zero {
namespace {

// The answer to one name, as bytes that live for ever.
struct Row {
  cl_uint name;
  const void* data;
  std::size_t size;
};

template <class T, T value>
inline constexpr T stored = value;
template <class T, T value = T{}>
constexpr Row number(cl_uint name) {
  return {name, &stored<T, value>, sizeof(T)};
}
template <cl_uint value>
constexpr Row uint(cl_uint name) {
  return number<cl_uint, value>(name);
}
template <std::size_t n>
constexpr Row text(cl_uint name, const char (&given)[n]) {
  return {name, given, n};
}
constexpr Row nothing(cl_uint name) { return {name, nullptr, 0}; }
template <class T>
constexpr Row bytes(cl_uint name, const T& value) {
  return {name, &value, sizeof value};
}
// The one object of that kind. Its handle is an address, so the pointer to it cannot be a constant.
template <class ClHandle>
inline const ClHandle the_handle = handle<ClHandle>();
template <class ClHandle>
constexpr Row object_row(cl_uint name) {
  return {name, &the_handle<ClHandle>, sizeof(ClHandle)};
}

constexpr char extensions[] = "cl_khr_icd cl_khr_suggested_local_work_size";
constexpr std::array<std::size_t, 3> work_item_sizes{1024, 1024, 64};
constexpr std::array<std::size_t, 3> no_sizes{};

constexpr Row platform_rows[] = {
    text(CL_PLATFORM_PROFILE, "FULL_PROFILE"),
    text(CL_PLATFORM_VERSION, "OpenCL 3.0 zero"),
    uint<CL_MAKE_VERSION(3, 0, 0)>(CL_PLATFORM_NUMERIC_VERSION),
    text(CL_PLATFORM_NAME, "Cleave zero-cost platform"),
    text(CL_PLATFORM_VENDOR, "Cleave"),
    text(CL_PLATFORM_EXTENSIONS, extensions),
    text(CL_PLATFORM_ICD_SUFFIX_KHR, "ZERO"),
};
constexpr Row device_rows[] = {
    number<cl_device_type, CL_DEVICE_TYPE_GPU>(CL_DEVICE_TYPE),
    uint<0x10001>(CL_DEVICE_VENDOR_ID),
    uint<16>(CL_DEVICE_MAX_COMPUTE_UNITS),
    uint<3>(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS),
    number<std::size_t, 1024>(CL_DEVICE_MAX_WORK_GROUP_SIZE),
    bytes(CL_DEVICE_MAX_WORK_ITEM_SIZES, work_item_sizes),
    uint<64>(CL_DEVICE_ADDRESS_BITS),
    object_row<cl_platform_id>(CL_DEVICE_PLATFORM),
    number<cl_device_id>(CL_DEVICE_PARENT_DEVICE),
    uint<CL_MAKE_VERSION(3, 0, 0)>(CL_DEVICE_NUMERIC_VERSION),
    uint<CL_TRUE>(CL_DEVICE_AVAILABLE),
    uint<CL_TRUE>(CL_DEVICE_COMPILER_AVAILABLE),
    uint<CL_TRUE>(CL_DEVICE_LINKER_AVAILABLE),
    uint<CL_TRUE>(CL_DEVICE_ENDIAN_LITTLE),
    uint<CL_TRUE>(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT),
    number<cl_command_queue_properties, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE>(
        CL_DEVICE_QUEUE_ON_HOST_PROPERTIES),
    uint<1>(CL_DEVICE_REFERENCE_COUNT),
    text(CL_DEVICE_NAME, "Zero-cost device"),
    text(CL_DEVICE_VENDOR, "Cleave"),
    text(CL_DRIVER_VERSION, "1.0"),
    text(CL_DEVICE_PROFILE, "FULL_PROFILE"),
    text(CL_DEVICE_VERSION, "OpenCL 3.0 zero"),
    text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 zero"),
    text(CL_DEVICE_EXTENSIONS, extensions),
};
constexpr Row context_rows[] = {
    uint<1>(CL_CONTEXT_REFERENCE_COUNT),
    uint<1>(CL_CONTEXT_NUM_DEVICES),
    object_row<cl_device_id>(CL_CONTEXT_DEVICES),
    nothing(CL_CONTEXT_PROPERTIES),
};
constexpr Row queue_rows[] = {
    object_row<cl_context>(CL_QUEUE_CONTEXT),
    object_row<cl_device_id>(CL_QUEUE_DEVICE),
    uint<1>(CL_QUEUE_REFERENCE_COUNT),
    number<cl_command_queue_properties, CL_QUEUE_PROFILING_ENABLE>(CL_QUEUE_PROPERTIES),
    nothing(CL_QUEUE_PROPERTIES_ARRAY),
};
constexpr Row program_rows[] = {
    uint<1>(CL_PROGRAM_REFERENCE_COUNT),
    uint<1>(CL_PROGRAM_NUM_DEVICES),
    object_row<cl_context>(CL_PROGRAM_CONTEXT),
    object_row<cl_device_id>(CL_PROGRAM_DEVICES),
    text(CL_PROGRAM_SOURCE, "kernel void zero() {}"),
    number<std::size_t, 1>(CL_PROGRAM_NUM_KERNELS),
    text(CL_PROGRAM_KERNEL_NAMES, "zero"),
    number<std::size_t, 0>(CL_PROGRAM_BINARY_SIZES),
};
constexpr Row build_rows[] = {
    number<cl_build_status, CL_BUILD_SUCCESS>(CL_PROGRAM_BUILD_STATUS),
    text(CL_PROGRAM_BUILD_OPTIONS, ""),
    text(CL_PROGRAM_BUILD_LOG, ""),
    uint<CL_PROGRAM_BINARY_TYPE_EXECUTABLE>(CL_PROGRAM_BINARY_TYPE),
};
constexpr Row kernel_rows[] = {
    text(CL_KERNEL_FUNCTION_NAME, "zero"),     uint<0>(CL_KERNEL_NUM_ARGS),
    uint<1>(CL_KERNEL_REFERENCE_COUNT),        object_row<cl_context>(CL_KERNEL_CONTEXT),
    object_row<cl_program>(CL_KERNEL_PROGRAM), text(CL_KERNEL_ATTRIBUTES, ""),
};
constexpr Row work_group_rows[] = {
    number<std::size_t, 1024>(CL_KERNEL_WORK_GROUP_SIZE),
    bytes(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, no_sizes),
    number<std::size_t, 32>(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE),
    number<cl_ulong, 0>(CL_KERNEL_LOCAL_MEM_SIZE),
    number<cl_ulong, 0>(CL_KERNEL_PRIVATE_MEM_SIZE),
};
constexpr Row memory_rows[] = {
    uint<CL_MEM_OBJECT_BUFFER>(CL_MEM_TYPE),   number<cl_mem_flags, CL_MEM_READ_WRITE>(CL_MEM_FLAGS),
    number<std::size_t, 1 << 16>(CL_MEM_SIZE), uint<1>(CL_MEM_REFERENCE_COUNT),
    object_row<cl_context>(CL_MEM_CONTEXT),
};
constexpr Row event_rows[] = {
    object_row<cl_command_queue>(CL_EVENT_COMMAND_QUEUE),
    object_row<cl_context>(CL_EVENT_CONTEXT),
    uint<CL_COMMAND_NDRANGE_KERNEL>(CL_EVENT_COMMAND_TYPE),
    number<cl_int, CL_COMPLETE>(CL_EVENT_COMMAND_EXECUTION_STATUS),
    uint<1>(CL_EVENT_REFERENCE_COUNT),
};
constexpr Row profiling_rows[] = {
    number<cl_ulong, 1>(CL_PROFILING_COMMAND_QUEUED),   number<cl_ulong, 2>(CL_PROFILING_COMMAND_SUBMIT),
    number<cl_ulong, 3>(CL_PROFILING_COMMAND_START),    number<cl_ulong, 4>(CL_PROFILING_COMMAND_END),
    number<cl_ulong, 5>(CL_PROFILING_COMMAND_COMPLETE),
};

// A function clGet...Info that answers from `rows`, whatever handles it is asked about.
template <const auto& rows, class... ClHandles>
cl_int CL_API_CALL answer(ClHandles..., cl_uint name, std::size_t capacity, void* value, std::size_t* size) {
  for (const Row& row : rows) {
    if (row.name != name) continue;
    if (size != nullptr) *size = row.size;
    if (value == nullptr) return CL_SUCCESS;
    if (capacity < row.size) return CL_INVALID_VALUE;
    if (row.size > 0) std::memcpy(value, row.data, row.size);
    return CL_SUCCESS;
  }
  return CL_INVALID_VALUE;
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
  table.clGetPlatformInfo = answer<platform_rows, cl_platform_id>;
  table.clGetDeviceInfo = answer<device_rows, cl_device_id>;
  table.clGetContextInfo = answer<context_rows, cl_context>;
  table.clGetCommandQueueInfo = answer<queue_rows, cl_command_queue>;
  table.clGetProgramInfo = answer<program_rows, cl_program>;
  table.clGetProgramBuildInfo = answer<build_rows, cl_program, cl_device_id>;
  table.clGetKernelInfo = answer<kernel_rows, cl_kernel>;
  table.clGetKernelWorkGroupInfo = answer<work_group_rows, cl_kernel, cl_device_id>;
  table.clGetMemObjectInfo = answer<memory_rows, cl_mem>;
  table.clGetEventInfo = answer<event_rows, cl_event>;
  table.clGetEventProfilingInfo = answer<profiling_rows, cl_event>;
}

}  // namespace cleave::sim::zero
