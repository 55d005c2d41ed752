#include "tests/sim/driver/core/table.h"

#include <cstdint>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/driver.h"

namespace cleave::sim {
namespace {

cl_icd_dispatch refusing_table() {
  cl_icd_dispatch table{};
#define CL_FUNCTION(version, name, ...) refuse<Function::name, CL_INVALID_OPERATION>(table.name);
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}

cl_icd_dispatch complete_table() {
  cl_icd_dispatch table = refusing_table();
#define SIM_ADD(name) name##_functions::add(table);
  SIM_FUNCTIONS(SIM_ADD)
#undef SIM_ADD
  return table;
}

// CL_ICD2_TAG_KHR, which the headers of many systems do not have yet.
constexpr std::intptr_t kTag =
    sizeof(void*) == 4 ? std::intptr_t{0x434C3331} : static_cast<std::intptr_t>(0x4F50454E434C3331);

cl_icd_dispatch only_tags() {
  cl_icd_dispatch table{};
  table.clGetPlatformIDs = reinterpret_cast<decltype(table.clGetPlatformIDs)>(kTag);
  table.clUnloadCompiler = reinterpret_cast<decltype(table.clUnloadCompiler)>(kTag);
  return table;
}

}  // namespace

const cl_icd_dispatch& icd_v2_table() {
  static const cl_icd_dispatch table = only_tags();
  return table;
}

void* function_in_table(std::string_view name) {
#define CL_FUNCTION(version, function, ...) \
  if (name == #function) return reinterpret_cast<void*>(Driver::table().function);
#include "opencl/functions.def"
#undef CL_FUNCTION
  return nullptr;
}

const cl_icd_dispatch& Driver::table() {
  static const cl_icd_dispatch table = complete_table();
  return table;
}

}  // namespace cleave::sim
