// What kernels answer to queries.
#include <array>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/info_answer.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace {

void info(CallFrame& frame, cl_kernel handle, cl_kernel_info name, std::size_t capacity, void* value,
          std::size_t* size) {
  const Kernel& kernel = frame.state.get(handle);
  const InfoAnswer answer(capacity, value, size);
  switch (name) {
    case CL_KERNEL_FUNCTION_NAME:
      return answer.text(kernel.signature.name);
    case CL_KERNEL_NUM_ARGS:
      return answer.value(static_cast<cl_uint>(kernel.arguments.size()));
    case CL_KERNEL_REFERENCE_COUNT:
      return answer.value(kernel.references());
    case CL_KERNEL_CONTEXT:
      return answer.value(handle_of(kernel.program->context));
    case CL_KERNEL_PROGRAM:
      return answer.value(handle_of(kernel.program));
    case CL_KERNEL_ATTRIBUTES:
      return answer.text(kernel.signature.attributes);
    default:
      throw Error{CL_INVALID_VALUE};
  }
}

// A NULL device is allowed where the kernel's program has only one.
void work_group_info(CallFrame& frame, cl_kernel handle, cl_device_id device, cl_kernel_work_group_info name,
                     std::size_t capacity, void* value, std::size_t* size) {
  const Kernel& kernel = frame.state.get(handle);
  if (device != nullptr) {
    require(kernel.program->context->has(frame.state.get(device)), CL_INVALID_DEVICE);
  } else {
    require(kernel.program->devices.size() == 1, CL_INVALID_DEVICE);
  }
  const Options& options = frame.state.options;
  const InfoAnswer answer(capacity, value, size);
  switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE:
      return answer.value(options.max_work_group_size);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE:
      return answer.value(kernel.signature.required_size.value_or(Size3{}));
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
      return answer.value(options.preferred_multiple);
    case CL_KERNEL_LOCAL_MEM_SIZE: {
      cl_ulong local = 0;
      for (const auto& argument : kernel.arguments) {
        if (argument.value.kind == Argument::Kind::local) local += argument.value.size;
      }
      return answer.value(local);
    }
    case CL_KERNEL_PRIVATE_MEM_SIZE:
      return answer.value(cl_ulong{0});
    default:
      throw Error{CL_INVALID_VALUE};  // CL_KERNEL_GLOBAL_WORK_SIZE is for built-in kernels of custom devices
  }
}

void arg_info(CallFrame& frame, cl_kernel handle, cl_uint index, cl_kernel_arg_info name,
              std::size_t capacity, void* value, std::size_t* size) {
  const Kernel& kernel = frame.state.get(handle);
  require(index < kernel.signature.parameters.size(), CL_INVALID_ARG_INDEX);
  const Parameter& parameter = kernel.signature.parameters[index];
  require(parameter.kind != Parameter::Kind::unknown, CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
  const InfoAnswer answer(capacity, value, size);
  switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
      return answer.value(parameter.address);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
      return answer.value(parameter.access);
    case CL_KERNEL_ARG_TYPE_NAME:
      return answer.text(parameter.type);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
      return answer.value(parameter.qualifiers);
    case CL_KERNEL_ARG_NAME:
      return answer.text(parameter.name);
    default:
      throw Error{CL_INVALID_VALUE};
  }
}

}  // namespace

void add_kernel_info_functions(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clGetKernelInfo, info);
  SIM_IMPLEMENT(clGetKernelWorkGroupInfo, work_group_info);
  SIM_IMPLEMENT(clGetKernelArgInfo, arg_info);
}

}  // namespace cleave::sim
