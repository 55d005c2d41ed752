#include "tests/sim/driver/platform/device_info.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>

#include "tests/sim/driver/core/info_answer.h"

namespace cleave::sim {
namespace {

constexpr const char* suggested_size_extension = "cl_khr_suggested_local_work_size";
constexpr cl_ulong kibibyte = 1024;

cl_name_version named(const std::string& name, cl_version version) {
  cl_name_version entry{};
  entry.version = version;
  std::snprintf(entry.name, sizeof entry.name, "%s", name.c_str());
  return entry;
}

// The version 1.0 to 3.0 of one name, as lists of versions have them.
std::vector<cl_name_version> versions_of(const char* name, std::initializer_list<cl_version> versions) {
  std::vector<cl_name_version> list;
  for (const cl_version version : versions) list.push_back(named(name, version));
  return list;
}

// What depends on the options or the device.
bool specific_info(const Device& device, cl_device_info name, const InfoAnswer& answer) {
  const Options& options = device.state.options;
  switch (name) {
    case CL_DEVICE_TYPE:
      answer.value(options.device_type);
      return true;
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      answer.value(device.compute_units);
      return true;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      answer.value(options.max_work_group_size);
      return true;
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      answer.value(options.max_work_item_sizes);
      return true;
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      answer.value(options.preferred_multiple);
      return true;
    case CL_DEVICE_ADDRESS_BITS:
      answer.value(options.address_bits);
      return true;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
      answer.value(options.memory_size);
      return true;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      answer.value(options.memory_size / 4);
      return true;
    case CL_DEVICE_LOCAL_MEM_SIZE:
      answer.value(options.local_memory_size);
      return true;
    case CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT:
      answer.boolean(options.non_uniform);
      return true;
    case CL_DEVICE_QUEUE_ON_HOST_PROPERTIES:
      answer.value<cl_command_queue_properties>(
          CL_QUEUE_PROFILING_ENABLE | (options.out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0));
      return true;
    case CL_DEVICE_IMAGE_SUPPORT:
      answer.boolean(options.images);
      return true;
    case CL_DEVICE_VENDOR_ID:
      answer.value<cl_uint>(0x10000);
      return true;
    case CL_DEVICE_PLATFORM:
      answer.value(handle_of(device.state.platform));
      return true;
    case CL_DEVICE_PARENT_DEVICE:
      answer.value(handle_of(device.parent));
      return true;
    case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
      answer.value(device.compute_units);
      return true;
    case CL_DEVICE_PARTITION_TYPE:
      answer.list(device.partition);
      return true;
    case CL_DEVICE_REFERENCE_COUNT:
      answer.value(device.parent ? device.references() : cl_uint{1});
      return true;
    default:
      return false;
  }
}

bool text_info(const Device& device, cl_device_info name, const InfoAnswer& answer) {
  const Options& options = device.state.options;
  switch (name) {
    case CL_DEVICE_NAME:
      answer.text(device.name);
      return true;
    case CL_DEVICE_VENDOR:
      answer.text(options.device_vendor);
      return true;
    case CL_DRIVER_VERSION:
      answer.text(options.driver_version);
      return true;
    case CL_DEVICE_PROFILE:
      answer.text("FULL_PROFILE");
      return true;
    case CL_DEVICE_VERSION:
      answer.text(options.platform_version);
      return true;
    case CL_DEVICE_OPENCL_C_VERSION:
      answer.text("OpenCL C 1.2 sim");
      return true;
    case CL_DEVICE_EXTENSIONS:
      answer.text(extension_string(options));
      return true;
    case CL_DEVICE_BUILT_IN_KERNELS:
      answer.text("sim_builtin");
      return true;
    case CL_DEVICE_IL_VERSION:
      answer.text("SPIR-V_1.2");
      return true;
    case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED:
      answer.text("");
      return true;
    default:
      return false;
  }
}

bool list_info(const Device& device, cl_device_info name, const InfoAnswer& answer) {
  constexpr cl_version one = CL_MAKE_VERSION(1, 0, 0);
  switch (name) {
    case CL_DEVICE_NUMERIC_VERSION:
      answer.value(numeric_version(device.state.options));
      return true;
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
      answer.list(extension_list(device.state.options));
      return true;
    case CL_DEVICE_ILS_WITH_VERSION:
      answer.list(versions_of("SPIR-V", {CL_MAKE_VERSION(1, 2, 0)}));
      return true;
    case CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION:
      answer.list(versions_of("sim_builtin", {one}));
      return true;
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
      answer.list(versions_of("OpenCL C", {one, CL_MAKE_VERSION(1, 1, 0), CL_MAKE_VERSION(1, 2, 0),
                                           CL_MAKE_VERSION(2, 0, 0), CL_MAKE_VERSION(3, 0, 0)}));
      return true;
    case CL_DEVICE_OPENCL_C_FEATURES:
      answer.list(std::vector<cl_name_version>{});
      return true;
    case CL_DEVICE_PARTITION_PROPERTIES:
      answer.list(std::vector<cl_device_partition_property>{CL_DEVICE_PARTITION_EQUALLY,
                                                            CL_DEVICE_PARTITION_BY_COUNTS});
      return true;
    default:
      return false;
  }
}

// Plain numbers of a middling device.
std::optional<cl_uint> uint_info(cl_device_info name) {
  switch (name) {
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
      return 3;
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:
      return 1000;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
      return 1024;
    case CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE:
      return 128;
    case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE:
      return CL_READ_WRITE_CACHE;
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
      return 128;
    case CL_DEVICE_LOCAL_MEM_TYPE:
      return CL_LOCAL;
    case CL_DEVICE_MAX_CONSTANT_ARGS:
      return 8;
    case CL_DEVICE_MAX_SAMPLERS:
      return 16;
    case CL_DEVICE_MAX_READ_IMAGE_ARGS:
    case CL_DEVICE_MAX_WRITE_IMAGE_ARGS:
    case CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS:
      return 128;
    case CL_DEVICE_IMAGE_PITCH_ALIGNMENT:
    case CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT:
      return 1;
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
      return 1;
    case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS:
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
    case CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT:
    case CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT:
    case CL_DEVICE_MAX_NUM_SUB_GROUPS:
      return 0;
    default:
      return std::nullopt;
  }
}

std::optional<std::size_t> size_info(cl_device_info name) {
  switch (name) {
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
      return 1;
    case CL_DEVICE_MAX_PARAMETER_SIZE:
      return 1024;
    case CL_DEVICE_PRINTF_BUFFER_SIZE:
      return 1024 * kibibyte;
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
      return 16384;
    case CL_DEVICE_IMAGE3D_MAX_WIDTH:
    case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
    case CL_DEVICE_IMAGE3D_MAX_DEPTH:
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE:
      return 2048;
    case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
      return 65536;
    case CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE:
    case CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE:
      return 0;
    default:
      return std::nullopt;
  }
}

// Sets of flags and other 64-bit numbers.
std::optional<cl_ulong> wide_info(cl_device_info name) {
  constexpr cl_ulong plain_floats = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST |
                                    CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA;
  switch (name) {
    case CL_DEVICE_SINGLE_FP_CONFIG:
    case CL_DEVICE_DOUBLE_FP_CONFIG:
      return plain_floats;
    case CL_DEVICE_HALF_FP_CONFIG:
      return 0;
    case CL_DEVICE_EXECUTION_CAPABILITIES:
      return CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL;
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
      return 256 * kibibyte;
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
      return 64 * kibibyte;
    case CL_DEVICE_SVM_CAPABILITIES:
      return CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
    case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
      return 0;
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
      return 0;
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES:
      return 0;
    case CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES:
      return CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP;
    case CL_DEVICE_ATOMIC_FENCE_CAPABILITIES:
      return CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
             CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP;
    default:
      return std::nullopt;
  }
}

std::optional<bool> boolean_info(cl_device_info name) {
  switch (name) {
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_PREFERRED_INTEROP_USER_SYNC:
      return true;
    case CL_DEVICE_ERROR_CORRECTION_SUPPORT:
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
    case CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS:
    case CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT:
    case CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT:
    case CL_DEVICE_PIPE_SUPPORT:
      return false;
    default:
      return std::nullopt;
  }
}

}  // namespace

void device_info(CallFrame& frame, cl_device_id handle, cl_device_info name, std::size_t capacity,
                 void* value, std::size_t* size) {
  const Device& device = frame.state.get(handle);
  const InfoAnswer answer(capacity, value, size);
  if (specific_info(device, name, answer) || text_info(device, name, answer) ||
      list_info(device, name, answer)) {
    return;
  }
  if (const auto number = uint_info(name)) return answer.value(*number);
  if (const auto number = size_info(name)) return answer.value(*number);
  if (const auto number = wide_info(name)) return answer.value(*number);
  if (const auto truth = boolean_info(name)) return answer.boolean(*truth);
  throw Error{CL_INVALID_VALUE};
}

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
