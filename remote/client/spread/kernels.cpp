// Kernels: one on each server where the program was built.
#include <algorithm>
#include <string>

#include "remote/client/spread/access.h"
#include "remote/client/spread/api.h"
#include "remote/client/spread/bodies.h"

namespace cleave::remote::client::spread {
namespace {

WholeKernel& kernel_of(cl_kernel handle) { return body_of<WholeKernel>(*find(handle)); }

const WholeContext& context_of_kernel(const WholeKernel& kernel) {
  return context_of(*body_of<ProgramBody>(*kernel.program).context);
}

void fill_kernel(WholeKernel& body, const KernelBody& part) {
  body.name = part.name;
  body.facts = part.facts;
  body.arguments.resize(part.facts->takes.size());
  for (cl_uint i = 0; i < body.arguments.size(); ++i) body.arguments[i].may_write = may_write(part, i);
}

// Where the program was not built there is none; where it has none of the name, there is an error.
cl_kernel create_kernel(Object& program, const char* name, cl_int* error_ret) {
  const WholeProgram& of = body_of<WholeProgram>(program);
  cl_int error = CL_SUCCESS;
  cl_int not_built = CL_SUCCESS;
  const cl_kernel made = create<WholeKernel>(
      *of.context, program, &error,
      [&](std::size_t part, cl_int& one) -> cl_kernel {
        if (of.parts[part] == nullptr) return nullptr;
        const cl_kernel kernel = client::clCreateKernel(of.parts[part], name, &one);
        if (one == CL_INVALID_PROGRAM_EXECUTABLE) not_built = std::exchange(one, CL_SUCCESS);
        return kernel;
      },
      [&](WholeKernel& body, const KernelBody& part) {
        body.program = &program;
        fill_kernel(body, part);
      });
  if (error_ret != nullptr) *error_ret = made == nullptr && not_built != CL_SUCCESS ? not_built : error;
  return made;
}

std::vector<std::string> names_of_kernels(cl_program program, cl_int& error) {
  std::vector<std::string> names;
  size_t size = 0;
  error = spread::clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
  if (error != CL_SUCCESS) return names;
  std::string text(size, '\0');
  error = spread::clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, size, text.data(), nullptr);
  text.resize(strnlen(text.data(), size));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    if (end != at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// Of a device's server. Null, where there is more than one device, is no device.
cl_kernel part_for(const WholeKernel& kernel, cl_device_id handle) {
  const auto& devices = body_of<ProgramBody>(*kernel.program).devices;
  const Object* const device = handle == nullptr && devices.size() == 1 ? devices[0] : find(handle);
  if (device == nullptr || std::find(devices.begin(), devices.end(), device) == devices.end()) return nullptr;
  return kernel.parts[part_of(context_of_kernel(kernel), device)];
}

// The first that is there.
cl_kernel some_part(const WholeKernel& kernel) {
  const WholeContext& context = context_of_kernel(kernel);
  for (std::size_t part = 0; part < kernel.parts.size(); ++part) {
    if (kernel.parts[part] != nullptr && connection_of(context, part).alive()) return kernel.parts[part];
  }
  return *std::find_if(kernel.parts.begin(), kernel.parts.end(),
                       [](cl_kernel part) { return part != nullptr; });
}

}  // namespace

cl_kernel CL_API_CALL clCreateKernel(cl_program handle, const char* name, cl_int* error_ret) {
  if (name == nullptr) return fail<cl_kernel>(error_ret, CL_INVALID_VALUE);
  return create_kernel(*find(handle), name, error_ret);
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program handle, cl_uint entries, cl_kernel* kernels,
                                            cl_uint* count) {
  cl_int error = CL_SUCCESS;
  const std::vector<std::string> names = names_of_kernels(handle, error);
  if (error != CL_SUCCESS) return error;
  if (kernels != nullptr && entries < names.size()) return CL_INVALID_VALUE;
  if (count != nullptr) *count = static_cast<cl_uint>(names.size());
  for (std::size_t i = 0; kernels != nullptr && i < names.size(); ++i) {
    kernels[i] = create_kernel(*find(handle), names[i].c_str(), &error);
    if (error == CL_SUCCESS) continue;
    for (std::size_t k = 0; k < i; ++k) client::clReleaseKernel(kernels[k]);
    return error;
  }
  return CL_SUCCESS;
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel handle, cl_int* error_ret) {
  Object& source = *find(handle);
  const WholeKernel& of = body_of<WholeKernel>(source);
  return create<WholeKernel>(
      *body_of<ProgramBody>(*of.program).context, source, error_ret,
      [&](std::size_t part, cl_int& error) -> cl_kernel {
        return of.parts[part] == nullptr ? nullptr : client::clCloneKernel(of.parts[part], &error);
      },
      [&](WholeKernel& body, const KernelBody&) {
        body.program = of.program;
        body.name = of.name;
        body.facts = of.facts;
        body.arguments = of.arguments;
      });
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel handle, cl_kernel_info name, size_t size, void* value,
                                   size_t* size_ret) {
  const bool of_whole =
      name == CL_KERNEL_REFERENCE_COUNT || name == CL_KERNEL_CONTEXT || name == CL_KERNEL_PROGRAM;
  return client::clGetKernelInfo(of_whole ? handle : some_part(kernel_of(handle)), name, size, value,
                                 size_ret);
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel handle, cl_uint index, cl_kernel_arg_info name, size_t size,
                                      void* value, size_t* size_ret) {
  return client::clGetKernelArgInfo(some_part(kernel_of(handle)), index, name, size, value, size_ret);
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel handle, cl_device_id device,
                                            cl_kernel_work_group_info name, size_t size, void* value,
                                            size_t* size_ret) {
  const cl_kernel part = part_for(kernel_of(handle), device);
  if (part == nullptr) return CL_INVALID_DEVICE;
  return client::clGetKernelWorkGroupInfo(part, device, name, size, value, size_ret);
}

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel handle, cl_device_id device,
                                           cl_kernel_sub_group_info name, size_t input_size,
                                           const void* input, size_t size, void* value, size_t* size_ret) {
  const cl_kernel part = part_for(kernel_of(handle), device);
  if (part == nullptr) return CL_INVALID_DEVICE;
  return client::clGetKernelSubGroupInfo(part, device, name, input_size, input, size, value, size_ret);
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_sub_group_info name, size_t input_size,
                                              const void* input, size_t size, void* value, size_t* size_ret) {
  return spread::clGetKernelSubGroupInfo(kernel, device, name, input_size, input, size, value, size_ret);
}

cl_int CL_API_CALL get_suggested_local_size(cl_command_queue queue_handle, cl_kernel handle, cl_uint dims,
                                            const size_t* offset, const size_t* global, size_t* suggested) {
  const Object* const queue = find(queue_handle);
  const Object* const kernel = find(handle);
  if (queue == nullptr || !is_spread(*queue))
    return client::get_suggested_local_size(queue_handle, handle, dims, offset, global, suggested);
  if (kernel == nullptr || !is_spread(*kernel)) return CL_INVALID_KERNEL;
  const WholeKernel& of = body_of<WholeKernel>(*kernel);
  const QueueBody& on = body_of<QueueBody>(*queue);
  if (body_of<ProgramBody>(*of.program).context != known_context(on.context)) return CL_INVALID_CONTEXT;
  const cl_kernel part = of.parts[part_of(on)];
  if (part == nullptr) return CL_INVALID_PROGRAM_EXECUTABLE;
  return client::get_suggested_local_size(queue_handle, part, dims, offset, global, suggested);
}

}  // namespace cleave::remote::client::spread
