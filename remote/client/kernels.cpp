// Kernels: made, cloned, asked about.
#include <algorithm>

#include "remote/client/api.h"
#include "remote/client/info.h"
#include "remote/client/queries.h"
#include "remote/client/state.h"

namespace cleave::remote::client {
namespace {

using Takes = KernelFacts::Takes;

bool is_handle_type(std::string_view type) {
  return type.starts_with("sampler_t") || type.starts_with("queue_t") || type.starts_with("pipe") ||
         (type.starts_with("image") && type.find("_t") != std::string_view::npos);
}

Takes what_it_takes(const Infos& infos, cl_uint index) {
  const auto space_key = key_of(wire::What::kernel_argument, CL_KERNEL_ARG_ADDRESS_QUALIFIER, index);
  switch (known<cl_kernel_arg_address_qualifier>(infos, space_key, 0)) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
      return Takes::handle;
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
      return Takes::local;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE: {
      const std::string type =
          known_text(infos, key_of(wire::What::kernel_argument, CL_KERNEL_ARG_TYPE_NAME, index));
      return type.empty() ? Takes::unknown : is_handle_type(type) ? Takes::handle : Takes::value;
    }
    default:
      return Takes::unknown;
  }
}

std::shared_ptr<KernelFacts> facts_of(ProgramBody& program, const KernelBody& kernel) {
  constexpr cl_uint kMost = 1U << 16U;  // that any driver takes
  const auto told = known<cl_uint>(kernel.infos, key_of(wire::What::kernel, CL_KERNEL_NUM_ARGS), 0);
  const cl_uint count = std::min(told, kMost);
  const std::scoped_lock lock(program.mutex);
  std::shared_ptr<KernelFacts>& facts = program.kernels[kernel.name];
  if (facts == nullptr || facts->takes.size() != count) {
    facts = std::make_shared<KernelFacts>();
    for (cl_uint i = 0; i < count; ++i) facts->takes.push_back(what_it_takes(kernel.infos, i));
    facts->accepted.resize(count);
  }
  return facts;
}

// Of what the driver and the server say; `infos` is the answer's list.
void describe(KernelBody& body, const Pending& pending) {
  if (pending.details() != nullptr) keep_infos(body.infos, pending.details()->infos());
  body.facts = facts_of(body_of<ProgramBody>(*body.program), body);
  body.set.resize(body.facts->takes.size());
  body.local_sizes.resize(body.facts->takes.size());
}

cl_kernel create_kernel(Object& program, const char* name, cl_int* error_ret) {
  const ProgramBody& of = body_of<ProgramBody>(program);
  const auto both = prepare<KernelBody>(program, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_kernel>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->program = &program;
  body->name = name;
  Pending pending;
  const cl_int error = of.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateCreateKernel(b, body->id, of.id, b.CreateString(name));
  });
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_kernel>(error_ret, error);
  }
  describe(*body, pending);
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_kernel>(&client.objects.publish(*object, static_cast<Body*>(body)));
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
Object* device_for(const KernelBody& kernel, cl_device_id handle) {
  const auto& devices = body_of<ProgramBody>(*kernel.program).devices;
  if (handle == nullptr) return devices.size() == 1 ? devices[0] : nullptr;
  Object* const device = find(handle);
  return std::find(devices.begin(), devices.end(), device) != devices.end() ? device : nullptr;
}

cl_int sub_group_info(cl_kernel handle, cl_device_id device_handle, cl_kernel_sub_group_info name,
                      size_t input_size, const void* input, const Answer& answer) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelBody& body = body_of<KernelBody>(*object);
  Object* const device = device_for(body, device_handle);
  if (device == nullptr) return CL_INVALID_DEVICE;
  const auto* const bytes = static_cast<const std::uint8_t*>(input);
  std::vector<std::byte> came;
  const cl_int error =
      ask_server(*body.connection, wire::What::kernel_sub_group, body.id, body_of<DeviceBody>(*device).id,
                 name, 0, {bytes, input == nullptr ? 0 : input_size}, nullptr, came);
  return error != CL_SUCCESS ? error : answer.give_list(came);
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
  KernelBody& of = body_of<KernelBody>(*source);
  const auto both = prepare<KernelBody>(*source, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_kernel>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->program = of.program;
  body->name = of.name;
  body->infos.copy_from(of.infos);
  body->facts = of.facts;
  body->set = of.set;
  body->local_sizes = of.local_sizes;
  {
    const std::scoped_lock lock(of.mutex);
    body->accepted = of.accepted;
  }
  Pending pending;
  const cl_int error =
      of.connection->ask({}, pending, [&](auto& b) { return wire::CreateCloneKernel(b, body->id, of.id); });
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_kernel>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_kernel>(&client.objects.publish(*object, static_cast<Body*>(body)));
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info name, size_t size, void* value,
                                   size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelBody& body = body_of<KernelBody>(*object);
  const Answer answer{size, value, size_ret};
  switch (name) {
    case CL_KERNEL_REFERENCE_COUNT:
      return answer.give(references(*object));
    case CL_KERNEL_CONTEXT:
      return answer.give(objects::handle_of<cl_context>(body_of<ProgramBody>(*body.program).context));
    case CL_KERNEL_PROGRAM:
      return answer.give(objects::handle_of<cl_program>(body.program));
    default:
      return answer_from(*body.connection, body.infos, wire::What::kernel, body.id, 0, name, 0, answer);
  }
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info name, size_t size,
                                      void* value, size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelBody& body = body_of<KernelBody>(*object);
  return answer_from(*body.connection, body.infos, wire::What::kernel_argument, body.id, 0, name, index,
                     {size, value, size_ret});
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device_handle,
                                            cl_kernel_work_group_info name, size_t size, void* value,
                                            size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_KERNEL;
  KernelBody& body = body_of<KernelBody>(*object);
  Object* const device = device_for(body, device_handle);
  if (device == nullptr) return CL_INVALID_DEVICE;
  const Id id = body_of<DeviceBody>(*device).id;
  const Answer answer{size, value, size_ret};
  // These follow what the arguments are set to.
  if (name == CL_KERNEL_LOCAL_MEM_SIZE || name == CL_KERNEL_PRIVATE_MEM_SIZE) {
    std::vector<std::byte> bytes;
    const cl_int error =
        ask_server(*body.connection, wire::What::kernel_work_group, body.id, id, name, 0, {}, nullptr, bytes);
    return error != CL_SUCCESS ? error : answer.give_list(bytes);
  }
  return answer_from(*body.connection, body.infos, wire::What::kernel_work_group, body.id, id, name, 0,
                     answer);
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
