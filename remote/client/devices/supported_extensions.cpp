#include "remote/client/devices/supported_extensions.h"

#include <algorithm>
#include <array>

namespace cleave::remote::client {
namespace {

// Others are withheld: they may have functions, or need memory that both sides see. An asterisk at the end stands for any
// rest of a name.
constexpr std::array kSupported = std::to_array<std::string_view>({
    "__opencl_c_*",
    "cl_amd_device_attribute_query",
    "cl_amd_fp64",
    "cl_amd_media_ops*",
    "cl_amd_popcnt",
    "cl_amd_printf",
    "cl_amd_vec3",
    "cl_arm_core_id",
    "cl_arm_integer_dot_product*",
    "cl_arm_non_uniform_work_group_size",
    "cl_arm_printf",
    "cl_ext_atomic_counters_*",
    "cl_ext_cxx_for_opencl",
    "cl_ext_float_atomics",
    "cl_intel_bfloat16*",
    "cl_intel_device_attribute_query",
    "cl_intel_dot_accumulate",
    "cl_intel_global_float_atomics",
    "cl_intel_media_block_io",
    "cl_intel_packed_yuv",
    "cl_intel_printf",
    "cl_intel_required_subgroup_size",
    "cl_intel_spirv_*",
    "cl_intel_split_work_group_barrier",
    "cl_intel_subgroup*",
    "cl_khr_3d_image_writes",
    "cl_khr_async_work_group_copy_fence",
    "cl_khr_byte_addressable_store",
    "cl_khr_create_command_queue",
    "cl_khr_depth_images",
    "cl_khr_device_uuid",
    "cl_khr_expect_assume",
    "cl_khr_extended_async_copies",
    "cl_khr_extended_bit_ops",
    "cl_khr_extended_versioning",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_global_int32_*",
    "cl_khr_icd",
    "cl_khr_il_program",
    "cl_khr_image2d_from_buffer",
    "cl_khr_initialize_memory",
    "cl_khr_int64_*",
    "cl_khr_integer_dot_product",
    "cl_khr_kernel_clock",
    "cl_khr_local_int32_*",
    "cl_khr_pci_bus_info",
    "cl_khr_priority_hints",
    "cl_khr_select_fprounding_mode",
    "cl_khr_spir",
    "cl_khr_spirv_*",
    "cl_khr_srgb_image_writes",
    "cl_khr_subgroup*",
    "cl_khr_suggested_local_work_size",
    "cl_khr_throttle_hints",
    "cl_khr_work_group_uniform_arithmetic",
    "cl_nv_compiler_options",
    "cl_nv_copy_opts",
    "cl_nv_device_attribute_query",
    "cl_nv_kernel_attribute",
    "cl_nv_pragma_unroll",
});

}  // namespace

bool is_supported_extension(std::string_view extension) {
  return std::any_of(kSupported.begin(), kSupported.end(), [&](std::string_view known) {
    return known.ends_with('*') ? extension.starts_with(known.substr(0, known.size() - 1))
                                : extension == known;
  });
}

std::string kept_names(std::string_view list, const std::function<bool(std::string_view name)>& keep) {
  std::string kept;
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(' '));
    list.remove_prefix(std::min(list.size(), name.size() + 1));
    if (keep(name)) kept.append(kept.empty() ? "" : " ").append(name);
  }
  return kept;
}

std::string only_supported(std::string_view extensions) {
  return kept_names(extensions, is_supported_extension);
}

void keep_supported(std::vector<cl_name_version>& extensions) {
  for (cl_name_version& extension : extensions) extension.name[CL_NAME_VERSION_MAX_NAME_SIZE - 1] = '\0';
  std::erase_if(extensions,
                [](const cl_name_version& extension) { return !is_supported_extension(extension.name); });
}

}  // namespace cleave::remote::client
