#include "tests/sim/driver/platform/device_info.h"

#include <cstdio>
#include <initializer_list>
#include <sstream>

#include "tests/sim/driver/core/info_answer.h"

namespace cleave::sim {
namespace {

constexpr const char* suggested_size_extension = "cl_khr_suggested_local_work_size";
constexpr cl_ulong kibibyte = 1024;
constexpr cl_ulong float_support = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST |
                                   CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA;

cl_name_version named(const std::string& name, cl_version version) {
  cl_name_version entry{};
  entry.version = version;
  std::snprintf(entry.name, sizeof entry.name, "%s", name.c_str());
  return entry;
}

// Several versions of one name.
std::vector<cl_name_version> versions_of(const char* name, std::initializer_list<cl_version> versions) {
  std::vector<cl_name_version> list;
  for (const cl_version version : versions) list.push_back(named(name, version));
  return list;
}

// What a row of the table answers: an option of the driver, or the same number for all devices.
template <auto member>
struct Option {
  auto operator()(const Device& device) const { return device.state.options.*member; }
};
template <class T, T number>
struct Number {
  T operator()(const Device&) const { return number; }
};
template <cl_uint number>
using UInt = Number<cl_uint, number>;
template <std::size_t number>
using Size = Number<std::size_t, number>;
template <cl_ulong number>
using ULong = Number<cl_ulong, number>;
using Yes = Number<bool, true>;
using No = Number<bool, false>;

constexpr InfoRow<Device> rows[] = {
    // What depends on the options or the device.
    {CL_DEVICE_TYPE, Option<&Options::device_type>{}},
    {CL_DEVICE_MAX_COMPUTE_UNITS, [](const Device& device) { return device.compute_units; }},
    {CL_DEVICE_MAX_WORK_GROUP_SIZE, Option<&Options::max_work_group_size>{}},
    {CL_DEVICE_MAX_WORK_ITEM_SIZES, Option<&Options::max_work_item_sizes>{}},
    {CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, Option<&Options::preferred_multiple>{}},
    {CL_DEVICE_ADDRESS_BITS, Option<&Options::address_bits>{}},
    {CL_DEVICE_GLOBAL_MEM_SIZE, Option<&Options::memory_size>{}},
    {CL_DEVICE_MAX_MEM_ALLOC_SIZE, [](const Device& device) { return device.state.options.memory_size / 4; }},
    {CL_DEVICE_LOCAL_MEM_SIZE, Option<&Options::local_memory_size>{}},
    {CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, Option<&Options::non_uniform>{}},
    {CL_DEVICE_QUEUE_ON_HOST_PROPERTIES,
     [](const Device& device) -> cl_command_queue_properties {
       return CL_QUEUE_PROFILING_ENABLE |
              (device.state.options.out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
     }},
    {CL_DEVICE_IMAGE_SUPPORT, Option<&Options::images>{}},
    {CL_DEVICE_VENDOR_ID, UInt<0x10000>{}},
    {CL_DEVICE_PLATFORM, [](const Device& device) { return handle_of(device.state.platform); }},
    {CL_DEVICE_PARENT_DEVICE, [](const Device& device) { return handle_of(device.parent); }},
    {CL_DEVICE_PARTITION_MAX_SUB_DEVICES, [](const Device& device) { return device.compute_units; }},
    {CL_DEVICE_PARTITION_TYPE, [](const Device& device) { return device.partition; }},
    {CL_DEVICE_REFERENCE_COUNT,
     [](const Device& device) { return device.parent ? device.references() : cl_uint{1}; }},
    // Texts.
    {CL_DEVICE_NAME, [](const Device& device) { return device.name; }},
    {CL_DEVICE_VENDOR, Option<&Options::device_vendor>{}},
    {CL_DRIVER_VERSION, Option<&Options::driver_version>{}},
    {CL_DEVICE_PROFILE, [](const Device&) { return "FULL_PROFILE"; }},
    {CL_DEVICE_VERSION, Option<&Options::platform_version>{}},
    {CL_DEVICE_OPENCL_C_VERSION, [](const Device&) { return "OpenCL C 1.2 sim"; }},
    {CL_DEVICE_EXTENSIONS, [](const Device& device) { return extension_string(device.state.options); }},
    {CL_DEVICE_BUILT_IN_KERNELS, [](const Device&) { return "sim_builtin"; }},
    {CL_DEVICE_IL_VERSION, [](const Device&) { return "SPIR-V_1.2"; }},
    {CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, [](const Device&) { return ""; }},
    // Versions and lists.
    {CL_DEVICE_NUMERIC_VERSION, [](const Device& device) { return numeric_version(device.state.options); }},
    {CL_DEVICE_EXTENSIONS_WITH_VERSION,
     [](const Device& device) { return extension_list(device.state.options); }},
    {CL_DEVICE_ILS_WITH_VERSION,
     [](const Device&) { return versions_of("SPIR-V", {CL_MAKE_VERSION(1, 2, 0)}); }},
    {CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION,
     [](const Device&) { return versions_of("sim_builtin", {CL_MAKE_VERSION(1, 0, 0)}); }},
    {CL_DEVICE_OPENCL_C_ALL_VERSIONS,
     [](const Device&) {
       return versions_of("OpenCL C",
                          {CL_MAKE_VERSION(1, 0, 0), CL_MAKE_VERSION(1, 1, 0), CL_MAKE_VERSION(1, 2, 0),
                           CL_MAKE_VERSION(2, 0, 0), CL_MAKE_VERSION(3, 0, 0)});
     }},
    {CL_DEVICE_OPENCL_C_FEATURES, [](const Device&) { return std::vector<cl_name_version>{}; }},
    {CL_DEVICE_PARTITION_PROPERTIES,
     [](const Device&) {
       return std::vector<cl_device_partition_property>{CL_DEVICE_PARTITION_EQUALLY,
                                                        CL_DEVICE_PARTITION_BY_COUNTS};
     }},
    // Plain numbers of a middling device.
    {CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, UInt<3>{}},
    {CL_DEVICE_MAX_CLOCK_FREQUENCY, UInt<1000>{}},
    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, UInt<1024>{}},
    {CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, UInt<128>{}},
    {CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, UInt<CL_READ_WRITE_CACHE>{}},
    {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, UInt<128>{}},
    {CL_DEVICE_LOCAL_MEM_TYPE, UInt<CL_LOCAL>{}},
    {CL_DEVICE_MAX_CONSTANT_ARGS, UInt<8>{}},
    {CL_DEVICE_MAX_SAMPLERS, UInt<16>{}},
    {CL_DEVICE_MAX_READ_IMAGE_ARGS, UInt<128>{}},
    {CL_DEVICE_MAX_WRITE_IMAGE_ARGS, UInt<128>{}},
    {CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, UInt<128>{}},
    {CL_DEVICE_IMAGE_PITCH_ALIGNMENT, UInt<1>{}},
    {CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, UInt<1>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR, UInt<1>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, UInt<1>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_INT, UInt<1>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, UInt<1>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, UInt<1>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, UInt<1>{}},
    {CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, UInt<0>{}},
    {CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, UInt<0>{}},
    {CL_DEVICE_MAX_ON_DEVICE_QUEUES, UInt<0>{}},
    {CL_DEVICE_MAX_ON_DEVICE_EVENTS, UInt<0>{}},
    {CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE, UInt<0>{}},
    {CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, UInt<0>{}},
    {CL_DEVICE_MAX_PIPE_ARGS, UInt<0>{}},
    {CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, UInt<0>{}},
    {CL_DEVICE_PIPE_MAX_PACKET_SIZE, UInt<0>{}},
    {CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, UInt<0>{}},
    {CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT, UInt<0>{}},
    {CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, UInt<0>{}},
    {CL_DEVICE_MAX_NUM_SUB_GROUPS, UInt<0>{}},
    {CL_DEVICE_PROFILING_TIMER_RESOLUTION, Size<1>{}},
    {CL_DEVICE_MAX_PARAMETER_SIZE, Size<1024>{}},
    {CL_DEVICE_PRINTF_BUFFER_SIZE, Size<1024 * kibibyte>{}},
    {CL_DEVICE_IMAGE2D_MAX_WIDTH, Size<16384>{}},
    {CL_DEVICE_IMAGE2D_MAX_HEIGHT, Size<16384>{}},
    {CL_DEVICE_IMAGE3D_MAX_WIDTH, Size<2048>{}},
    {CL_DEVICE_IMAGE3D_MAX_HEIGHT, Size<2048>{}},
    {CL_DEVICE_IMAGE3D_MAX_DEPTH, Size<2048>{}},
    {CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, Size<2048>{}},
    {CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, Size<65536>{}},
    {CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, Size<0>{}},
    {CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE, Size<0>{}},
    // Sets of flags and other 64-bit numbers.
    {CL_DEVICE_SINGLE_FP_CONFIG, ULong<float_support>{}},
    {CL_DEVICE_DOUBLE_FP_CONFIG, ULong<float_support>{}},
    {CL_DEVICE_HALF_FP_CONFIG, ULong<0>{}},
    {CL_DEVICE_EXECUTION_CAPABILITIES, ULong<CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL>{}},
    {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, ULong<256 * kibibyte>{}},
    {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, ULong<64 * kibibyte>{}},
    {CL_DEVICE_SVM_CAPABILITIES, ULong<CL_DEVICE_SVM_COARSE_GRAIN_BUFFER>{}},
    {CL_DEVICE_PARTITION_AFFINITY_DOMAIN, ULong<0>{}},
    {CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, ULong<0>{}},
    {CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, ULong<0>{}},
    {CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES,
     ULong<CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP>{}},
    {CL_DEVICE_ATOMIC_FENCE_CAPABILITIES,
     ULong<CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
           CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP>{}},
    {CL_DEVICE_AVAILABLE, Yes{}},
    {CL_DEVICE_COMPILER_AVAILABLE, Yes{}},
    {CL_DEVICE_LINKER_AVAILABLE, Yes{}},
    {CL_DEVICE_ENDIAN_LITTLE, Yes{}},
    {CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, Yes{}},
    {CL_DEVICE_ERROR_CORRECTION_SUPPORT, No{}},
    {CL_DEVICE_HOST_UNIFIED_MEMORY, No{}},
    {CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, No{}},
    {CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, No{}},
    {CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, No{}},
    {CL_DEVICE_PIPE_SUPPORT, No{}},
};

}  // namespace

void device_info(CallFrame&, const Device& device, InfoQuery query) { answer(rows, device, query); }

cl_version numeric_version(const Options& options) {
  unsigned major = 1;
  unsigned minor = 0;
  std::sscanf(options.platform_version.c_str(), "OpenCL %u.%u", &major, &minor);
  return CL_MAKE_VERSION(major, minor, 0);
}

std::string extension_string(const Options& options) {
  if (!options.suggested_local_size) return options.extensions;
  return options.extensions + (options.extensions.empty() ? "" : " ") + suggested_size_extension;
}

std::vector<cl_name_version> extension_list(const Options& options) {
  std::vector<cl_name_version> list;
  std::istringstream words(extension_string(options));
  for (std::string word; words >> word;) list.push_back(named(word, CL_MAKE_VERSION(1, 0, 0)));
  return list;
}

}  // namespace cleave::sim
