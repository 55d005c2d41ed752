// Kernels: a shard on each server where the program was built.
#include <algorithm>

#include "remote/client/api/programs.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/composite.h"
#include "remote/client/multi_server/memory_access.h"

namespace cleave::remote::client::multi_server {
namespace {

CompositeKernel& kernel_of(cl_kernel handle) { return state_of<CompositeKernel>(object_of(handle)); }

const CompositeContext& context_of_kernel(const CompositeKernel& kernel) {
  return context_of(*state_of<ProgramState>(*kernel.program).context);
}

void fill_kernel(CompositeKernel& state, const KernelState& shard) {
  state.name = shard.name;
  state.signature = shard.signature;
  state.arguments.resize(shard.signature->argument_kinds.size());
  for (cl_uint i = 0; i < state.arguments.size(); ++i) state.arguments[i].may_write = may_write(shard, i);
}

// A server on which the program was not built has no shard; one whose program has no such kernel is an error.
cl_kernel create_kernel(Object& program, const char* name, cl_int* error_ret) {
  const CompositeProgram& of = state_of<CompositeProgram>(program);
  cl_int error = CL_SUCCESS;
  cl_int not_built = CL_SUCCESS;
  const cl_kernel made = create_composite<CompositeKernel>(
      *of.context, program, &error,
      [&](std::size_t shard, cl_int& one) -> cl_kernel {
        if (of.shards[shard] == nullptr) return nullptr;
        const cl_kernel kernel = client::clCreateKernel(of.shards[shard], name, &one);
        if (one == CL_INVALID_PROGRAM_EXECUTABLE) not_built = std::exchange(one, CL_SUCCESS);
        return kernel;
      },
      [&](CompositeKernel& state, const KernelState& shard) {
        state.program = &program;
        fill_kernel(state, shard);
      });
  if (error_ret != nullptr) *error_ret = made == nullptr && not_built != CL_SUCCESS ? not_built : error;
  return made;
}

// The shard of a device's server. A null device is valid only if there is one device.
cl_kernel shard_for(const CompositeKernel& kernel, cl_device_id handle) {
  const auto& devices = state_of<ProgramState>(*kernel.program).devices;
  const Object* const device = handle == nullptr && devices.size() == 1 ? devices[0] : find(handle);
  if (device == nullptr || std::find(devices.begin(), devices.end(), device) == devices.end()) return nullptr;
  return kernel.shards[shard_of(context_of_kernel(kernel), device)];
}

// The first whose server is alive.
cl_kernel any_live_shard(const CompositeKernel& kernel) {
  const CompositeContext& context = context_of_kernel(kernel);
  for (std::size_t shard = 0; shard < kernel.shards.size(); ++shard) {
    if (kernel.shards[shard] != nullptr && connection_of(context, shard).alive()) return kernel.shards[shard];
  }
  return *std::find_if(kernel.shards.begin(), kernel.shards.end(),
                       [](cl_kernel shard) { return shard != nullptr; });
}

}  // namespace

cl_kernel CL_API_CALL clCreateKernel(cl_program handle, const char* name, cl_int* error_ret) {
  if (name == nullptr) return fail<cl_kernel>(error_ret, CL_INVALID_VALUE);
  return create_kernel(object_of(handle), name, error_ret);
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program handle, cl_uint entries, cl_kernel* kernels,
                                            cl_uint* count) {
  cl_int error = CL_SUCCESS;
  const std::vector<std::string> names = kernel_names(&multi_server::clGetProgramInfo, handle, error);
  if (error != CL_SUCCESS) return error;
  return create_kernels(names, entries, kernels, count, [&](const char* name, cl_int* error_ret) {
    return create_kernel(object_of(handle), name, error_ret);
  });
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel handle, cl_int* error_ret) {
  Object& source = object_of(handle);
  const CompositeKernel& of = state_of<CompositeKernel>(source);
  return create_composite<CompositeKernel>(
      *state_of<ProgramState>(*of.program).context, source, error_ret,
      [&](std::size_t shard, cl_int& error) -> cl_kernel {
        return of.shards[shard] == nullptr ? nullptr : client::clCloneKernel(of.shards[shard], &error);
      },
      [&](CompositeKernel& state, const KernelState&) {
        state.program = of.program;
        state.name = of.name;
        state.signature = of.signature;
        state.arguments = of.arguments;
      });
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info name, size_t size, void* value,
                                   size_t* size_ret) {
  const bool of_composite =
      name == CL_KERNEL_REFERENCE_COUNT || name == CL_KERNEL_CONTEXT || name == CL_KERNEL_PROGRAM;
  return client::clGetKernelInfo(of_composite ? handle : any_live_shard(kernel_of(handle)), name, size, value,
                                 size_ret);
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info name, size_t size,
                                      void* value, size_t* size_ret) {
  return client::clGetKernelArgInfo(any_live_shard(kernel_of(handle)), index, name, size, value, size_ret);
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device,
                                            cl_kernel_work_group_info name, size_t size, void* value,
                                            size_t* size_ret) {
  const cl_kernel shard = shard_for(kernel_of(handle), device);
  if (shard == nullptr) return CL_INVALID_DEVICE;
  return client::clGetKernelWorkGroupInfo(shard, device, name, size, value, size_ret);
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel handle, cl_device_id device,
                                           cl_kernel_sub_group_info name, size_t input_size,
                                           const void* input, size_t size, void* value, size_t* size_ret) {
  const cl_kernel shard = shard_for(kernel_of(handle), device);
  if (shard == nullptr) return CL_INVALID_DEVICE;
  return client::clGetKernelSubGroupInfo(shard, device, name, input_size, input, size, value, size_ret);
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_sub_group_info name, size_t input_size,
                                              const void* input, size_t size, void* value, size_t* size_ret) {
  return multi_server::clGetKernelSubGroupInfo(kernel, device, name, input_size, input, size, value,
                                               size_ret);
}

cl_int CL_API_CALL get_suggested_local_size(cl_command_queue queue_handle, cl_kernel handle, cl_uint dims,
                                            const size_t* offset, const size_t* global, size_t* suggested) {
  const Object* const queue = find(queue_handle);
  const Object* const kernel = find(handle);
  if (queue == nullptr || !is_multi_server(*queue))
    return client::get_suggested_local_size(queue_handle, handle, dims, offset, global, suggested);
  if (kernel == nullptr || !is_multi_server(*kernel)) return CL_INVALID_KERNEL;
  const CompositeKernel& of = state_of<CompositeKernel>(*kernel);
  const QueueState& on = state_of<QueueState>(*queue);
  if (state_of<ProgramState>(*of.program).context != program_context(on.context)) return CL_INVALID_CONTEXT;
  const cl_kernel shard = of.shards[shard_of(on)];
  if (shard == nullptr) return CL_INVALID_PROGRAM_EXECUTABLE;
  return client::get_suggested_local_size(queue_handle, shard, dims, offset, global, suggested);
}

}  // namespace cleave::remote::client::multi_server
