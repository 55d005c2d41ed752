// Shared by the files about programs.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "remote/client/api/api.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {

using BuildNotify = void(CL_CALLBACK*)(cl_program, void*);

// The devices of a list and their ids. CL_INVALID_DEVICE if one of them is not among `known`.
cl_int resolve_devices(const std::vector<Object*>& known, cl_uint count, const cl_device_id* list,
                       std::vector<Object*>& devices, std::vector<Id>& ids);

// Posts the callback of a build, if there is one and the driver has built.
void notify_build_end(Object& program, cl_int error, BuildNotify notify, void* user_data);

// The kernels' names, from clGetProgramInfo by `get_info`.
template <typename GetInfo>
std::vector<std::string> kernel_names(GetInfo get_info, cl_program program, cl_int& error) {
  std::vector<std::string> names;
  size_t size = 0;
  error = get_info(program, CL_PROGRAM_KERNEL_NAMES, 0, nullptr, &size);
  if (error != CL_SUCCESS) return names;
  std::string text(size, '\0');
  error = get_info(program, CL_PROGRAM_KERNEL_NAMES, size, text.data(), nullptr);
  text.resize(strnlen(text.data(), size));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    if (end != at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

// clCreateKernelsInProgram for `names`; create(name, error) creates one.
template <typename Create>
cl_int create_kernels(const std::vector<std::string>& names, cl_uint entries, cl_kernel* kernels,
                      cl_uint* count, Create create) {
  if (kernels != nullptr && entries < names.size()) return CL_INVALID_VALUE;
  if (count != nullptr) *count = static_cast<cl_uint>(names.size());
  for (std::size_t i = 0; kernels != nullptr && i < names.size(); ++i) {
    cl_int error = CL_SUCCESS;
    kernels[i] = create(names[i].c_str(), &error);
    if (error == CL_SUCCESS) continue;
    for (std::size_t k = 0; k < i; ++k) client::clReleaseKernel(kernels[k]);
    return error;
  }
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client
