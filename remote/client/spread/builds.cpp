// Builds, on each server for its devices; one server after the other.
#include <algorithm>

#include "remote/client/spread/api.h"
#include "remote/client/spread/programs.h"

namespace cleave::remote::client::spread {
namespace {

using BuildNotify = void(CL_CALLBACK*)(cl_program, void*);

bool has_ended_build(cl_int error) {
  return error == CL_SUCCESS || error == CL_BUILD_PROGRAM_FAILURE || error == CL_COMPILE_PROGRAM_FAILURE ||
         error == CL_LINK_PROGRAM_FAILURE;
}

void notify_of(Object& program, cl_int error, BuildNotify notify, void* user_data) {
  if (notify == nullptr || !has_ended_build(error)) return;
  client.objects.hold(program);
  client.callbacks.post([&program, notify, user_data] {
    notify(objects::handle_of<cl_program>(&program), user_data);
    client.objects.drop(program);
  });
}

// Calls build(part, devices) for each part that has some of the devices; all of them if none is listed. The
// first error of a server that is still there.
template <typename Build>
cl_int on_each(const WholeProgram& program, cl_uint count, const cl_device_id* list, Build build) {
  if ((count == 0) != (list == nullptr)) return CL_INVALID_VALUE;
  const WholeContext& context = context_of(*program.context);
  Split parts;
  if (const cl_int error = split(context, program.devices, count, list, parts); error != CL_SUCCESS)
    return error;
  cl_int error = CL_SUCCESS;
  bool any = false;
  for (std::size_t part = 0; part < program.parts.size(); ++part) {
    if (program.parts[part] == nullptr || (count != 0 && parts.devices[part].empty())) continue;
    const cl_int one = build(part, parts.devices[part]);
    const bool is_gone = one != CL_SUCCESS && !connection_of(context, part).alive();
    any = any || !is_gone;
    if (error == CL_SUCCESS && !is_gone) error = one;
  }
  return any ? error : kGone;
}

// The parts of a list of programs on one server; empty if one of them has none there.
std::vector<cl_program> parts_of(cl_uint count, const cl_program* list, std::size_t part) {
  std::vector<cl_program> parts;
  for (cl_uint i = 0; i < count; ++i) {
    parts.push_back(program_of(list[i]).parts[part]);
    if (parts.back() == nullptr) return {};
  }
  return parts;
}

bool are_programs_of(const Object& context, cl_uint count, const cl_program* list) {
  return std::all_of(list, list + count, [&](cl_program handle) {
    const Object* const program = find(handle);
    return program != nullptr && body_of<ProgramBody>(*program).context == &context;
  });
}

}  // namespace

cl_int CL_API_CALL clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                  const char* options, BuildNotify notify, void* user_data) {
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  const WholeProgram& program = program_of(handle);
  const cl_int error =
      on_each(program, count, list, [&](std::size_t part, const std::vector<cl_device_id>& devices) {
        return client::clBuildProgram(program.parts[part], static_cast<cl_uint>(devices.size()),
                                      devices.empty() ? nullptr : devices.data(), options, nullptr, nullptr);
      });
  notify_of(*find(handle), error, notify, user_data);
  return error;
}

cl_int CL_API_CALL clCompileProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                    const char* options, cl_uint headers, const cl_program* header_list,
                                    const char** header_names, BuildNotify notify, void* user_data) {
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  if ((headers == 0) != (header_list == nullptr) || (headers == 0) != (header_names == nullptr))
    return CL_INVALID_VALUE;
  const WholeProgram& program = program_of(handle);
  if (!are_programs_of(*program.context, headers, header_list)) return CL_INVALID_PROGRAM;
  const cl_int error =
      on_each(program, count, list, [&](std::size_t part, const std::vector<cl_device_id>& devices) {
        const std::vector<cl_program> some = parts_of(headers, header_list, part);
        if (some.size() != headers) return CL_INVALID_PROGRAM;
        return client::clCompileProgram(program.parts[part], static_cast<cl_uint>(devices.size()),
                                        devices.empty() ? nullptr : devices.data(), options, headers,
                                        some.empty() ? nullptr : some.data(), header_names, nullptr, nullptr);
      });
  notify_of(*find(handle), error, notify, user_data);
  return error;
}

cl_program CL_API_CALL clLinkProgram(cl_context handle, cl_uint count, const cl_device_id* list,
                                     const char* options, cl_uint programs, const cl_program* program_list,
                                     BuildNotify notify, void* user_data, cl_int* error_ret) {
  if (programs == 0 || program_list == nullptr || (notify == nullptr && user_data != nullptr) ||
      (count == 0) != (list == nullptr))
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  if (!are_programs_of(context, programs, program_list))
    return fail<cl_program>(error_ret, CL_INVALID_PROGRAM);
  Split parts;
  if (const cl_int error = split(of, of.devices, count, list, parts); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  std::vector<Object*> devices = of.devices;
  if (count != 0) devices.clear();
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  // One that could not be linked may be there nevertheless, and say why.
  cl_int linked = CL_SUCCESS;
  const auto link = [&](std::size_t part, cl_int& error) -> cl_program {
    const auto& some = parts.devices[part];
    if (count != 0 && some.empty()) return nullptr;
    const std::vector<cl_program> inputs = parts_of(programs, program_list, part);
    if (inputs.empty()) return error = CL_INVALID_PROGRAM, nullptr;
    const cl_program made = client::clLinkProgram(of.parts[part], static_cast<cl_uint>(some.size()),
                                                  some.empty() ? nullptr : some.data(), options, programs,
                                                  inputs.data(), nullptr, nullptr, &error);
    if (made != nullptr && error != CL_SUCCESS) {
      if (linked == CL_SUCCESS) linked = error;
      error = CL_SUCCESS;
    }
    return made;
  };
  cl_int error = CL_SUCCESS;
  const cl_program made = create_program(context, devices, &error, link);
  if (made != nullptr) error = linked;
  if (error_ret != nullptr) *error_ret = error;
  if (made != nullptr) notify_of(*find(made), error, notify, user_data);
  return made;
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program handle, cl_device_id device_handle,
                                         cl_program_build_info name, size_t size, void* value,
                                         size_t* size_ret) {
  const WholeProgram& program = program_of(handle);
  const Object* const device = find(device_handle);
  if (device == nullptr ||
      std::find(program.devices.begin(), program.devices.end(), device) == program.devices.end())
    return CL_INVALID_DEVICE;
  const cl_program part = program.parts[part_of(context_of(*program.context), device)];
  return part == nullptr ? kGone
                         : client::clGetProgramBuildInfo(part, device_handle, name, size, value, size_ret);
}

}  // namespace cleave::remote::client::spread
