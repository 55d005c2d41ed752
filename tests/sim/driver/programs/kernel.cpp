// Kernels: creation, arguments, cloning. Their queries are in kernel_info.cpp.
#include <algorithm>
#include <string_view>
#include <utility>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/programs/kernel_arguments.h"

namespace cleave::sim {
namespace kernel_functions {

std::shared_ptr<Kernel> make_kernel(Program& program, const KernelSignature& signature) {
  auto kernel = program.state.make<Kernel>();
  kernel->program = shared(program);
  kernel->signature = signature;
  kernel->arguments.resize(signature.parameters.size());
  ++program.attached_kernels;
  return kernel;
}

cl_kernel create(CallFrame&, Program& program, const char* name) {
  require(program.executable(), CL_INVALID_PROGRAM_EXECUTABLE);
  require(name != nullptr, CL_INVALID_VALUE);
  for (const KernelSignature& signature : program.kernels) {
    if (signature.name == name) return handle_of(make_kernel(program, signature));
  }
  throw Error{CL_INVALID_KERNEL_NAME};
}

void create_all(CallFrame&, Program& program, cl_uint entries, cl_kernel* kernels, cl_uint* count) {
  require(program.executable(), CL_INVALID_PROGRAM_EXECUTABLE);
  // Like some drivers, it returns the number even if the array is too small.
  if (count != nullptr) *count = static_cast<cl_uint>(program.kernels.size());
  require(kernels == nullptr || entries >= program.kernels.size(), CL_INVALID_VALUE);
  for (std::size_t i = 0; kernels != nullptr && i < program.kernels.size(); ++i) {
    kernels[i] = handle_of(make_kernel(program, program.kernels[i]));
  }
}

cl_kernel clone(CallFrame&, const Kernel& source) {
  auto kernel = make_kernel(*source.program, source.signature);
  kernel->arguments = source.arguments;
  return handle_of(kernel);
}

void set_arg(CallFrame& frame, cl_kernel handle, cl_uint index, std::size_t size, const void* value) {
  set_argument(frame.state.get(handle), index, size, value);
}

void set_arg_svm(CallFrame& frame, cl_kernel handle, cl_uint index, const void* pointer) {
  set_svm_argument(frame.state.get(handle), index, pointer);
}

// Pointers that kernels reach by themselves need nothing here: all SVM memory is there all the time.
void set_exec_info(CallFrame& frame, cl_kernel handle, cl_kernel_exec_info name, std::size_t,
                   const void* value) {
  frame.state.get(handle);
  require(value != nullptr, CL_INVALID_VALUE);
  require(name == CL_KERNEL_EXEC_INFO_SVM_PTRS || name == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
          CL_INVALID_VALUE);
  require(name == CL_KERNEL_EXEC_INFO_SVM_PTRS, CL_INVALID_OPERATION);
}

}  // namespace kernel_functions

void kernel_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateKernel, create);
  SIM_IMPLEMENT(clCreateKernelsInProgram, create_all);
  SIM_IMPLEMENT(clCloneKernel, clone);
  SIM_IMPLEMENT(clRetainKernel, retain<Kernel>);
  SIM_IMPLEMENT(clReleaseKernel, release<Kernel>);
  SIM_IMPLEMENT(clSetKernelArg, set_arg);
  SIM_IMPLEMENT(clSetKernelArgSVMPointer, set_arg_svm);
  SIM_IMPLEMENT(clSetKernelExecInfo, set_exec_info);
}

}  // namespace cleave::sim
