// Shared virtual memory: coarse-grained, so one allocation that host and kernels both see. Allocation is
// here, commands are in svm_commands.cpp.
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace svm_functions {

void* allocate(CallFrame& frame, cl_context context, cl_svm_mem_flags flags, std::size_t size,
               cl_uint alignment) {
  frame.state.get(context);
  const bool power_of_two = (alignment & (alignment - 1)) == 0;
  require(power_of_two && alignment <= 128, CL_INVALID_VALUE);
  require(size > 0 && size <= frame.state.options.memory_size / 4, CL_INVALID_BUFFER_SIZE);
  require((flags & (CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS)) == 0, CL_INVALID_VALUE);
  // The largest alignment that may be requested, so that all are met.
  SvmMemory memory(new (std::align_val_t{svm_alignment}) std::byte[size]{});
  std::byte* const pointer = memory.get();
  frame.state.svm.emplace(pointer, SvmBlock{std::move(memory), size});
  return pointer;
}

void free(CallFrame& frame, cl_context context, void* pointer) {
  frame.state.get(context);
  frame.state.svm.erase(static_cast<std::byte*>(pointer));
}

}  // namespace svm_functions

void svm_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clSVMAlloc, allocate);
  SIM_IMPLEMENT(clSVMFree, free);
}

}  // namespace cleave::sim
