#include "tests/sim/driver/table.h"

#include "tests/sim/driver/driver.h"
#include "tests/sim/driver/entry.h"

namespace cleave::sim {
namespace {

cl_icd_dispatch refusing_table() {
  cl_icd_dispatch table{};
#define CL_FUNCTION(version, result, name, parameters, arguments) \
  refuse<Function::name, CL_INVALID_OPERATION>(table.name);
#include "icd/functions.def"
#undef CL_FUNCTION
  return table;
}

cl_icd_dispatch complete_table() {
  cl_icd_dispatch table = refusing_table();
  add_platform_functions(table);
  add_context_functions(table);
  add_queue_functions(table);
  add_memory_functions(table);
  add_transfer_functions(table);
  add_rect_functions(table);
  add_map_functions(table);
  add_image_functions(table);
  add_image_transfer_functions(table);
  add_sampler_functions(table);
  add_svm_functions(table);
  add_svm_command_functions(table);
  add_program_functions(table);
  add_build_functions(table);
  add_kernel_functions(table);
  add_kernel_info_functions(table);
  add_launch_functions(table);
  add_event_functions(table);
  add_ordering_functions(table);
  add_extension_functions(table);
  return table;
}

}  // namespace

const cl_icd_dispatch& Driver::table() {
  static const cl_icd_dispatch table = complete_table();
  return table;
}

}  // namespace cleave::sim
