#include "icd/vendor/offered_extensions.h"

#include <algorithm>
#include <array>

#include "icd/vendor/translations.h"

namespace cleave::vendor {
namespace {

// Extensions without functions, or whose functions are all in the dispatch table. Others are hidden: programs would
// pass our handles to functions that we do not know.
constexpr std::array kOffered = {
    "cl_amd_device_attribute_query",
    "cl_amd_device_topology",
    "cl_amd_fp64",
    "cl_amd_media_ops",
    "cl_amd_media_ops2",
    "cl_amd_offline_devices",
    "cl_amd_popcnt",
    "cl_amd_printf",
    "cl_amd_vec3",
    "cl_amd_device_persistent_memory",
    "cl_amd_assembly_program",
    "cl_amd_core_id",
    "cl_arm_core_id",
    "cl_arm_integer_dot_product_accumulate_int16",
    "cl_arm_integer_dot_product_accumulate_int8",
    "cl_arm_integer_dot_product_accumulate_saturate_int8",
    "cl_arm_integer_dot_product_int8",
    "cl_arm_non_uniform_work_group_size",
    "cl_arm_printf",
    "cl_ext_atomic_counters_32",
    "cl_ext_atomic_counters_64",
    "cl_ext_cxx_for_opencl",
    "cl_ext_device_fission",
    "cl_ext_float_atomics",
    "cl_ext_image_from_buffer",
    "cl_ext_image_raw10_raw12",
    "cl_ext_immutable_memory_objects",
    "cl_intel_bfloat16",
    "cl_intel_bfloat16_conversions",
    "cl_intel_channels",
    "cl_intel_command_queue_families",
    "cl_intel_concurrent_dispatch",
    "cl_intel_debug_info",
    "cl_intel_device_attribute_query",
    "cl_intel_device_partition_by_names",
    "cl_intel_devicelib_assert",
    "cl_intel_driver_diagnostics",
    "cl_intel_dot_accumulate",
    "cl_intel_egl_image_yuv",
    "cl_intel_exec_by_local_thread",
    "cl_intel_global_float_atomics",
    "cl_intel_local_memory_fill",
    "cl_intel_mem_alloc_buffer_location",
    "cl_intel_mem_channel_property",
    "cl_intel_mem_force_host_memory",
    "cl_intel_media_block_io",
    "cl_intel_packed_yuv",
    "cl_intel_planar_yuv",
    "cl_intel_printf",
    "cl_intel_required_subgroup_size",
    "cl_intel_simultaneous_sharing",
    "cl_intel_spirv_device_side_avc_motion_estimation",
    "cl_intel_spirv_media_block_io",
    "cl_intel_spirv_subgroups",
    "cl_intel_split_work_group_barrier",
    "cl_intel_subgroup_2d_block_io",
    "cl_intel_subgroup_buffer_prefetch",
    "cl_intel_subgroup_local_block_io",
    "cl_intel_subgroup_matrix_multiply_accumulate",
    "cl_intel_subgroup_split_matrix_multiply_accumulate",
    "cl_intel_subgroups",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_long",
    "cl_intel_subgroups_short",
    "cl_intel_thread_local_exec",
    "cl_intel_vec_len_hint",
    "cl_khr_3d_image_writes",
    "cl_khr_async_work_group_copy_fence",
    "cl_khr_byte_addressable_store",
    "cl_khr_depth_images",
    "cl_khr_device_enqueue_local_arg_types",
    "cl_khr_device_uuid",
    "cl_khr_egl_event",
    "cl_khr_egl_image",
    "cl_khr_expect_assume",
    "cl_khr_extended_async_copies",
    "cl_khr_extended_bit_ops",
    "cl_khr_extended_versioning",
    "cl_khr_external_memory_dma_buf",
    "cl_khr_external_memory_opaque_fd",
    "cl_khr_fp16",
    "cl_khr_fp64",
    "cl_khr_gl_depth_images",
    "cl_khr_gl_event",
    "cl_khr_gl_msaa_sharing",
    "cl_khr_gl_sharing",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_icd",
    "cl_khr_image2d_from_buffer",
    "cl_khr_initialize_memory",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_integer_dot_product",
    "cl_khr_kernel_clock",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_mipmap_image",
    "cl_khr_mipmap_image_writes",
    "cl_khr_pci_bus_info",
    "cl_khr_priority_hints",
    "cl_khr_select_fprounding_mode",
    "cl_khr_spir",
    "cl_khr_spirv_extended_debug_info",
    "cl_khr_spirv_linkonce_odr",
    "cl_khr_spirv_no_integer_wrap_decoration",
    "cl_khr_spirv_queries",
    "cl_khr_srgb_image_writes",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_named_barrier",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_rotate",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroups",
    "cl_khr_throttle_hints",
    "cl_khr_work_group_uniform_arithmetic",
    "cl_nv_compiler_options",
    "cl_nv_copy_opts",
    "cl_nv_device_attribute_query",
    "cl_nv_kernel_attribute",
    "cl_nv_pragma_unroll",
    "cl_img_cached_allocations",
};

}  // namespace

bool is_offered(std::string_view extension) {
#define CL_EXTENSION(known, name, ...) \
  if (extension == #known && is_offered<&ExtensionFunctions::name>()) return true;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
  return std::find(kOffered.begin(), kOffered.end(), extension) != kOffered.end() ||
         extension.starts_with("__opencl_c_");  // features of OpenCL C, which some drivers list as well
}

std::string offered_extensions(std::string_view extensions) {
  const std::string_view whole = extensions;
  bool complete = true;
  std::string kept;
  while (!extensions.empty()) {
    const std::string_view name = extensions.substr(0, extensions.find(' '));
    extensions.remove_prefix(std::min(extensions.size(), name.size() + 1));
    if (name.empty()) continue;
    complete = complete && is_offered(name);
    if (is_offered(name)) kept.append(kept.empty() ? "" : " ").append(name);
  }
  return complete ? std::string(whole) : kept;
}

void remove_unoffered(std::vector<cl_name_version>& extensions) {
  std::erase_if(extensions, [](const cl_name_version& extension) { return !is_offered(extension.name); });
}

}  // namespace cleave::vendor
