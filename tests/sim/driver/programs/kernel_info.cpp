// What kernels answer to queries.
#include <array>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace kernel_info_functions {

constexpr InfoRow<Kernel> kernel_rows[] = {
    {CL_KERNEL_FUNCTION_NAME, [](const Kernel& kernel) { return kernel.signature.name; }},
    {CL_KERNEL_NUM_ARGS, [](const Kernel& kernel) { return static_cast<cl_uint>(kernel.arguments.size()); }},
    {CL_KERNEL_REFERENCE_COUNT, [](const Kernel& kernel) { return kernel.references(); }},
    {CL_KERNEL_CONTEXT, [](const Kernel& kernel) { return handle_of(kernel.program->context); }},
    {CL_KERNEL_PROGRAM, [](const Kernel& kernel) { return handle_of(kernel.program); }},
    {CL_KERNEL_ATTRIBUTES, [](const Kernel& kernel) { return kernel.signature.attributes; }},
};

cl_ulong local_memory_size(const Kernel& kernel) {
  cl_ulong local = 0;
  for (const auto& argument : kernel.arguments) {
    if (argument.value.kind == Argument::Kind::local) local += argument.value.size;
  }
  return local;
}

// CL_KERNEL_GLOBAL_WORK_SIZE is for built-in kernels of custom devices.
constexpr InfoRow<Kernel> work_group_rows[] = {
    {CL_KERNEL_WORK_GROUP_SIZE,
     [](const Kernel& kernel) { return kernel.state.options.max_work_group_size; }},
    {CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
     [](const Kernel& kernel) { return kernel.signature.required_size.value_or(Size3{}); }},
    {CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
     [](const Kernel& kernel) { return kernel.state.options.preferred_multiple; }},
    {CL_KERNEL_LOCAL_MEM_SIZE, [](const Kernel& kernel) { return local_memory_size(kernel); }},
    {CL_KERNEL_PRIVATE_MEM_SIZE, [](const Kernel&) { return cl_ulong{0}; }},
};

// A NULL device is allowed where the kernel's program has only one.
void work_group_info(CallFrame& frame, const Kernel& kernel, cl_device_id device, InfoQuery query) {
  if (device != nullptr) {
    require(kernel.program->context->has(frame.state.get(device)), CL_INVALID_DEVICE);
  } else {
    require(kernel.program->devices.size() == 1, CL_INVALID_DEVICE);
  }
  answer(work_group_rows, kernel, query);
}

constexpr InfoRow<Parameter> argument_rows[] = {
    {CL_KERNEL_ARG_ADDRESS_QUALIFIER, [](const Parameter& parameter) { return parameter.address; }},
    {CL_KERNEL_ARG_ACCESS_QUALIFIER, [](const Parameter& parameter) { return parameter.access; }},
    {CL_KERNEL_ARG_TYPE_NAME, [](const Parameter& parameter) { return parameter.type; }},
    {CL_KERNEL_ARG_TYPE_QUALIFIER, [](const Parameter& parameter) { return parameter.qualifiers; }},
    {CL_KERNEL_ARG_NAME, [](const Parameter& parameter) { return parameter.name; }},
};

void arg_info(CallFrame&, const Kernel& kernel, cl_uint index, InfoQuery query) {
  require(index < kernel.signature.parameters.size(), CL_INVALID_ARG_INDEX);
  const Parameter& parameter = kernel.signature.parameters[index];
  require(parameter.kind != Parameter::Kind::unknown, CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
  answer(argument_rows, parameter, query);
}

}  // namespace kernel_info_functions

void kernel_info_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clGetKernelInfo, answer_from<Kernel, kernel_rows>);
  SIM_IMPLEMENT(clGetKernelWorkGroupInfo, work_group_info);
  SIM_IMPLEMENT(clGetKernelArgInfo, arg_info);
}

}  // namespace cleave::sim
