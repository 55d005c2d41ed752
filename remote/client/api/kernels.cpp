// Creating, cloning and querying kernels.
#include <algorithm>
#include <optional>

#include "remote/client/api/api.h"
#include "remote/client/api/programs.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

using ArgumentKind = KernelSignature::ArgumentKind;

bool is_handle_type(std::string_view type) {
  return type.starts_with("sampler_t") || type.starts_with("queue_t") || type.starts_with("pipe") ||
         (type.starts_with("image") && type.find("_t") != std::string_view::npos);
}

ArgumentKind argument_kind_of(const InfoCache& infos, cl_uint index) {
  const auto space_key = info_key(wire::InfoSubject::kernel_argument, CL_KERNEL_ARG_ADDRESS_QUALIFIER, index);
  switch (cached<cl_kernel_arg_address_qualifier>(infos, space_key, 0)) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
      return ArgumentKind::handle;
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
      return ArgumentKind::local;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE: {
      const std::string type =
          cached_string(infos, info_key(wire::InfoSubject::kernel_argument, CL_KERNEL_ARG_TYPE_NAME, index));
      return type.empty()           ? ArgumentKind::unknown
             : is_handle_type(type) ? ArgumentKind::handle
                                    : ArgumentKind::value;
    }
    default:
      return ArgumentKind::unknown;
  }
}

std::shared_ptr<KernelSignature> signature_of(ProgramState& program, const KernelState& kernel) {
  constexpr cl_uint kMaxArguments = 1U << 16U;  // more than any driver supports
  const auto reported =
      cached<cl_uint>(kernel.infos, info_key(wire::InfoSubject::kernel, CL_KERNEL_NUM_ARGS), 0);
  const cl_uint count = std::min(reported, kMaxArguments);
  const base::MutexLock lock(program.mutex);
  std::shared_ptr<KernelSignature>& signature = program.kernels[kernel.name];
  if (signature == nullptr || signature->argument_kinds.size() != count) {
    signature = std::make_shared<KernelSignature>();
    for (cl_uint i = 0; i < count; ++i)
      signature->argument_kinds.push_back(argument_kind_of(kernel.infos, i));
    const base::MutexLock signature_lock(signature->mutex);
    signature->accepted.resize(count);
  }
  return signature;
}

// Fills in what the answer to the kernel's creation says of it.
void describe(KernelState& state, const PendingRequest& pending) {
  if (pending.answer() != nullptr) cache_infos(state.infos, pending.answer()->infos());
  state.signature = signature_of(state_of<ProgramState>(*state.program), state);
  state.set.resize(state.signature->argument_kinds.size());
  state.local_sizes.resize(state.signature->argument_kinds.size());
}

cl_kernel create_kernel(Object& program, const char* name, cl_int* error_ret) {
  const ProgramState& of = state_of<ProgramState>(program);
  NewObject<KernelState> made(program, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_kernel>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->program = &program;
  made->name = name;
  PendingRequest pending;
  const cl_int error = of.connection->call({}, pending, [&](auto& b) {
    return wire::CreateCreateKernel(b, made->id, of.id, b.CreateString(name));
  });
  if (error == CL_SUCCESS) describe(*made, pending);
  return made.finish(error, error_ret);
}

// Room for kernels, but no list: drivers disagree.
cl_int judge_missing_list(const ProgramState& program, cl_uint entries, cl_uint* count) {
  std::vector<std::byte> bytes;
  const cl_int error = query_server(*program.connection,
                                    {.what = wire::InfoSubject::kernels_in_program,
                                     .object = program.id,
                                     .param = entries,
                                     .index = count == nullptr ? 1U : 0U},
                                    bytes);
  if (error == CL_SUCCESS && count != nullptr && bytes.size() == sizeof *count)
    std::memcpy(count, bytes.data(), sizeof *count);
  return error;
}

// The device of a query; 0 for none: what that means, if anything, is for the driver to say.
std::optional<Id> device_for(const KernelState& kernel, cl_device_id handle) {
  if (handle == nullptr) return 0;
  const auto& devices = state_of<ProgramState>(*kernel.program).devices;
  Object* const device = find(handle);
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) return std::nullopt;
  return state_of<DeviceState>(*device).id;
}

}  // namespace

cl_kernel CL_API_CALL clCreateKernel(cl_program handle, const char* name, cl_int* error_ret) {
  Object* const program = find(handle);
  if (program == nullptr) return fail<cl_kernel>(error_ret, CL_INVALID_PROGRAM);
  if (name == nullptr) return fail<cl_kernel>(error_ret, CL_INVALID_VALUE);
  return create_kernel(*program, name, error_ret);
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program handle, cl_uint entries, cl_kernel* kernels,
                                            cl_uint* count) {
  Object* const program = find(handle);
  if (program == nullptr) return CL_INVALID_PROGRAM;
  const ProgramState& of = state_of<ProgramState>(*program);
  if (kernels == nullptr && entries != 0 && of.connection->supports(Feature::judgements))
    return judge_missing_list(of, entries, count);
  cl_int error = CL_SUCCESS;
  const std::vector<std::string> names = kernel_names(&client::clGetProgramInfo, handle, error);
  if (error != CL_SUCCESS) return error;
  return create_kernels(names, entries, kernels, count, [&](const char* name, cl_int* error_ret) {
    return create_kernel(*program, name, error_ret);
  });
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel handle, cl_int* error_ret) {
  Object* const source = find(handle);
  if (source == nullptr) return fail<cl_kernel>(error_ret, CL_INVALID_KERNEL);
  KernelState& of = state_of<KernelState>(*source);
  NewObject<KernelState> made(*source, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_kernel>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->program = of.program;
  made->name = of.name;
  made->infos.copy_from(of.infos);
  made->signature = of.signature;
  made->set = of.set;
  made->local_sizes = of.local_sizes;
  std::vector<LaunchShape> accepted;
  {
    const base::MutexLock lock(of.mutex);
    accepted = of.accepted;
  }
  {
    const base::MutexLock lock(made->mutex);
    made->accepted = std::move(accepted);
  }
  return made.create(error_ret, [&](auto& b) { return wire::CreateCloneKernel(b, made->id, of.id); });
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info name, size_t size, void* value,
                                   size_t* size_ret) {
  KernelState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_KERNEL;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_KERNEL_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_KERNEL_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state_of<ProgramState>(*state->program).context));
    case CL_KERNEL_PROGRAM:
      return output.write(objects::handle_of<cl_program>(state->program));
    default:
      return cached_or_queried(*state->connection, state->infos, {wire::InfoSubject::kernel, state->id, name},
                               output);
  }
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info name, size_t size,
                                      void* value, size_t* size_ret) {
  KernelState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_KERNEL;
  return cached_or_queried(*state->connection, state->infos,
                           {wire::InfoSubject::kernel_argument, state->id, name, 0, index},
                           {size, value, size_ret});
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device_handle,
                                            cl_kernel_work_group_info name, size_t size, void* value,
                                            size_t* size_ret) {
  KernelState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_KERNEL;
  const std::optional<Id> device = device_for(*state, device_handle);
  if (!device) return CL_INVALID_DEVICE;
  const ServerQuery query{wire::InfoSubject::kernel_work_group, state->id, name, *device};
  const InfoOutput output{size, value, size_ret};
  // These two depend on the arguments.
  if (name == CL_KERNEL_LOCAL_MEM_SIZE || name == CL_KERNEL_PRIVATE_MEM_SIZE)
    return query_into(*state->connection, query, output);
  return cached_or_queried(*state->connection, state->infos, query, output);
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel handle, cl_device_id device_handle,
                                           cl_kernel_sub_group_info name, size_t input_size,
                                           const void* input, size_t size, void* value, size_t* size_ret) {
  KernelState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_KERNEL;
  const std::optional<Id> device = device_for(*state, device_handle);
  if (!device) return CL_INVALID_DEVICE;
  const auto* const bytes = static_cast<const std::uint8_t*>(input);
  return query_into(
      *state->connection,
      {.what = wire::InfoSubject::kernel_sub_group,
       .object = state->id,
       .param = name,
       .device = *device,
       .index = value == nullptr ? UINT32_MAX : static_cast<cl_uint>(std::min<size_t>(size, 1U << 16U)),
       .input = {bytes, input == nullptr ? 0 : input_size}},
      {size, value, size_ret});
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_sub_group_info name, size_t input_size,
                                              const void* input, size_t size, void* value, size_t* size_ret) {
  return client::clGetKernelSubGroupInfo(kernel, device, name, input_size, input, size, value, size_ret);
}

}  // namespace cleave::remote::client
