#include "remote/client/library/dispatch_table.h"

#include <cstdint>

#include "remote/client/link/call_trace.h"
#include "remote/client/multi_server/overrides.h"

namespace cleave::remote::client {
namespace {

// CL_ICD2_TAG_KHR of cl_khr_icd 2, "OPENCL31".
constexpr std::intptr_t kTag =
    sizeof(void*) == 4 ? std::intptr_t{0x434C3331} : static_cast<std::intptr_t>(0x4F50454E434C3331);

}  // namespace

const Table& functions() {
  static const Table table = multi_server::make_functions();
  return table;
}

Table make_table(bool plain) {
  Table table = functions();
  if (call_trace != nullptr) trace_calls(table);
  if (plain) return table;
  // NOLINTBEGIN(performance-no-int-to-ptr): cl_khr_icd 2 defines the tag as a number
  table.clGetPlatformIDs = reinterpret_cast<decltype(table.clGetPlatformIDs)>(kTag);
  table.clUnloadCompiler = reinterpret_cast<decltype(table.clUnloadCompiler)>(kTag);
  // NOLINTEND(performance-no-int-to-ptr)
  return table;
}

}  // namespace cleave::remote::client
