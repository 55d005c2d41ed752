// Which file adds which functions to the table. A function that none of them adds is refused with
// CL_INVALID_OPERATION.
#pragma once

#include <CL/cl_icd.h>

#include <string_view>

namespace cleave::sim {

void add_platform_functions(cl_icd_dispatch& table);
void add_context_functions(cl_icd_dispatch& table);
void add_queue_functions(cl_icd_dispatch& table);
void add_memory_functions(cl_icd_dispatch& table);
void add_transfer_functions(cl_icd_dispatch& table);
void add_rect_functions(cl_icd_dispatch& table);
void add_map_functions(cl_icd_dispatch& table);
void add_image_functions(cl_icd_dispatch& table);
void add_image_transfer_functions(cl_icd_dispatch& table);
void add_sampler_functions(cl_icd_dispatch& table);
void add_svm_functions(cl_icd_dispatch& table);
void add_svm_command_functions(cl_icd_dispatch& table);
void add_program_functions(cl_icd_dispatch& table);
void add_build_functions(cl_icd_dispatch& table);
void add_kernel_functions(cl_icd_dispatch& table);
void add_kernel_info_functions(cl_icd_dispatch& table);
void add_launch_functions(cl_icd_dispatch& table);
void add_event_functions(cl_icd_dispatch& table);
void add_ordering_functions(cl_icd_dispatch& table);
void add_extension_functions(cl_icd_dispatch& table);

// What objects point to with cl_khr_icd 2: the two tags and no function.
const cl_icd_dispatch& icd_v2_table();
// The function of that name in the driver's table, or null.
void* function_in_table(std::string_view name);

}  // namespace cleave::sim
