// Kernels: made, cloned, asked about.
#include <algorithm>

#include "remote/client/api/api.h"
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
  constexpr cl_uint kMost = 1U << 16U;  // that any driver takes
  const auto told = cached<cl_uint>(kernel.infos, info_key(wire::InfoSubject::kernel, CL_KERNEL_NUM_ARGS), 0);
  const cl_uint count = std::min(told, kMost);
  const std::scoped_lock lock(program.mutex);
  std::shared_ptr<KernelSignature>& signature = program.kernels[kernel.name];
  if (signature == nullptr || signature->argument_kinds.size() != count) {
    signature = std::make_shared<KernelSignature>();
    for (cl_uint i = 0; i < count; ++i)
      signature->argument_kinds.push_back(argument_kind_of(kernel.infos, i));
    signature->accepted.resize(count);
  }
  return signature;
}

// Of what the driver and the server say; `infos` is the answer's list.
void describe(KernelState& state, const PendingRequest& pending) {
  if (pending.answer() != nullptr) cache_infos(state.infos, pending.answer()->infos());
  state.signature = signature_of(state_of<ProgramState>(*state.program), state);
  state.set.resize(state.signature->argument_kinds.size());
  state.local_sizes.resize(state.signature->argument_kinds.size());
}

cl_kernel create_kernel(Object& program, const char* name, cl_int* error_ret) {
  const ProgramState& of = state_of<ProgramState>(program);
  const auto both = prepare<KernelState>(program, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_kernel>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->program = &program;
  state->name = name;
  PendingRequest pending;
  const cl_int error = of.connection->call({}, pending, [&](auto& b) {
    return wire::CreateCreateKernel(b, state->id, of.id, b.CreateString(name));
  });
  if (error != CL_SUCCESS) {
    delete state;
    client.objects.discard(*object);
    return fail<cl_kernel>(error_ret, error);
  }
  describe(*state, pending);
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_kernel>(&client.objects.publish(*object, static_cast<ObjectState*>(state)));
}

std::vector<std::string> kernel_names(cl_program program, cl_int& error) {
  std::vector<std::string> names;
  size_t size = 0;
  error = client::clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
  if (error != CL_SUCCESS) return names;
  std::string text(size, '\0');
  error = client::clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, text.data(), nullptr);
  text.resize(strnlen(text.data(), size));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    if (end != at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// The device that a query about a kernel is about: null is allowed where there is only one.
Object* device_for(const KernelState& kernel, cl_device_id handle) {
  const auto& devices = state_of<ProgramState>(*kernel.program).devices;
  if (handle == nullptr) return devices.size() == 1 ? devices[0] : nullptr;
  Object* const device = find(handle);
  return std::find(devices.begin(), devices.end(), device) != devices.end() ? device : nullptr;
}

cl_int sub_group_info(cl_kernel handle, cl_device_id device_handle, cl_kernel_sub_group_info name,
                      size_t input_size, const void* input, const InfoOutput& output) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelState& state = state_of<KernelState>(*object);
  Object* const device = device_for(state, device_handle);
  if (device == nullptr) return CL_INVALID_DEVICE;
  const auto* const bytes = static_cast<const std::uint8_t*>(input);
  std::vector<std::byte> came;
  const cl_int error = query_server(*state.connection, wire::InfoSubject::kernel_sub_group, state.id,
                                    state_of<DeviceState>(*device).id, name, 0,
                                    {bytes, input == nullptr ? 0 : input_size}, nullptr, came);
  return error != CL_SUCCESS ? error : output.write_list(came);
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
  cl_int error = CL_SUCCESS;
  const std::vector<std::string> names = kernel_names(handle, error);
  if (error != CL_SUCCESS) return error;
  if (kernels != nullptr && entries < names.size()) return CL_INVALID_VALUE;
  if (count != nullptr) *count = static_cast<cl_uint>(names.size());
  for (std::size_t i = 0; kernels != nullptr && i < names.size(); ++i) {
    kernels[i] = create_kernel(*program, names[i].c_str(), &error);
    if (error == CL_SUCCESS) continue;
    for (std::size_t k = 0; k < i; ++k) client::clReleaseKernel(kernels[k]);
    return error;
  }
  return CL_SUCCESS;
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel handle, cl_int* error_ret) {
  Object* const source = find(handle);
  if (source == nullptr) return fail<cl_kernel>(error_ret, CL_INVALID_KERNEL);
  KernelState& of = state_of<KernelState>(*source);
  const auto both = prepare<KernelState>(*source, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_kernel>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->program = of.program;
  state->name = of.name;
  state->infos.copy_from(of.infos);
  state->signature = of.signature;
  state->set = of.set;
  state->local_sizes = of.local_sizes;
  {
    const std::scoped_lock lock(of.mutex);
    state->accepted = of.accepted;
  }
  PendingRequest pending;
  const cl_int error =
      of.connection->call({}, pending, [&](auto& b) { return wire::CreateCloneKernel(b, state->id, of.id); });
  if (error != CL_SUCCESS) {
    delete state;
    client.objects.discard(*object);
    return fail<cl_kernel>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_kernel>(&client.objects.publish(*object, static_cast<ObjectState*>(state)));
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info name, size_t size, void* value,
                                   size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelState& state = state_of<KernelState>(*object);
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_KERNEL_REFERENCE_COUNT:
      return output.write(references(*object));
    case CL_KERNEL_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state_of<ProgramState>(*state.program).context));
    case CL_KERNEL_PROGRAM:
      return output.write(objects::handle_of<cl_program>(state.program));
    default:
      return cached_or_queried(*state.connection, state.infos, wire::InfoSubject::kernel, state.id, 0, name,
                               0, output);
  }
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info name, size_t size,
                                      void* value, size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelState& state = state_of<KernelState>(*object);
  return cached_or_queried(*state.connection, state.infos, wire::InfoSubject::kernel_argument, state.id, 0,
                           name, index, {size, value, size_ret});
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device_handle,
                                            cl_kernel_work_group_info name, size_t size, void* value,
                                            size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelState& state = state_of<KernelState>(*object);
  Object* const device = device_for(state, device_handle);
  if (device == nullptr) return CL_INVALID_DEVICE;
  const Id id = state_of<DeviceState>(*device).id;
  const InfoOutput output{size, value, size_ret};
  // These follow what the arguments are set to.
  if (name == CL_KERNEL_LOCAL_MEM_SIZE || name == CL_KERNEL_PRIVATE_MEM_SIZE) {
    std::vector<std::byte> bytes;
    const cl_int error = query_server(*state.connection, wire::InfoSubject::kernel_work_group, state.id, id,
                                      name, 0, {}, nullptr, bytes);
    return error != CL_SUCCESS ? error : output.write_list(bytes);
  }
  return cached_or_queried(*state.connection, state.infos, wire::InfoSubject::kernel_work_group, state.id, id,
                           name, 0, output);
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device,
                                           cl_kernel_sub_group_info name, size_t input_size,
                                           const void* input, size_t size, void* value, size_t* size_ret) {
  return sub_group_info(kernel, device, name, input_size, input, {size, value, size_ret});
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_sub_group_info name, size_t input_size,
                                              const void* input, size_t size, void* value, size_t* size_ret) {
  return sub_group_info(kernel, device, name, input_size, input, {size, value, size_ret});
}

}  // namespace cleave::remote::client
