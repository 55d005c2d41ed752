// Builds, on each server for its devices; one server after the other.
#include <algorithm>

#include "remote/client/api/programs.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/programs.h"

namespace cleave::remote::client::multi_server {
namespace {

// Calls build(shard, devices) for each shard that has some of the devices, or for all if none is listed. Returns the first
// error of a server that is alive.
template <typename Build>
cl_int for_each_shard_with_devices(const CompositeProgram& program, cl_uint count, const cl_device_id* list,
                                   Build build) {
  if ((count == 0) != (list == nullptr)) return CL_INVALID_VALUE;
  const CompositeContext& context = context_of(*program.context);
  DevicesByShard shards;
  if (const cl_int error = split_by_shard(context, program.devices, count, list, shards); error != CL_SUCCESS)
    return error;
  cl_int error = CL_SUCCESS;
  bool any = false;
  for (std::size_t shard = 0; shard < program.shards.size(); ++shard) {
    if (program.shards[shard] == nullptr || (count != 0 && shards.devices[shard].empty())) continue;
    const cl_int one = build(shard, shards.devices[shard]);
    const bool is_gone = one != CL_SUCCESS && !connection_of(context, shard).alive();
    any = any || !is_gone;
    if (error == CL_SUCCESS && !is_gone) error = one;
  }
  return any ? error : kConnectionLost;
}

// The shards of a list of programs on one server. Empty if one of them has none there.
std::vector<cl_program> shards_of(cl_uint count, const cl_program* list, std::size_t shard) {
  std::vector<cl_program> shards;
  for (cl_uint i = 0; i < count; ++i) {
    shards.push_back(program_of(list[i]).shards[shard]);
    if (shards.back() == nullptr) return {};
  }
  return shards;
}

bool are_programs_of(const Object& context, cl_uint count, const cl_program* list) {
  return std::all_of(list, list + count, [&](cl_program handle) {
    const Object* const program = find(handle);
    return program != nullptr && state_of<ProgramState>(*program).context == &context;
  });
}

}  // namespace

cl_int CL_API_CALL clBuildProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                  const char* options, BuildNotify notify, void* user_data) {
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  const CompositeProgram& program = program_of(handle);
  const cl_int error = for_each_shard_with_devices(
      program, count, list, [&](std::size_t shard, const std::vector<cl_device_id>& devices) {
        return client::clBuildProgram(program.shards[shard], static_cast<cl_uint>(devices.size()),
                                      devices.empty() ? nullptr : devices.data(), options, nullptr, nullptr);
      });
  notify_build_end(object_of(handle), error, notify, user_data);
  return error;
}

cl_int CL_API_CALL clCompileProgram(cl_program handle, cl_uint count, const cl_device_id* list,
                                    const char* options, cl_uint headers, const cl_program* header_list,
                                    const char** header_names, BuildNotify notify, void* user_data) {
  if (notify == nullptr && user_data != nullptr) return CL_INVALID_VALUE;
  if ((headers == 0) != (header_list == nullptr) || (headers == 0) != (header_names == nullptr))
    return CL_INVALID_VALUE;
  const CompositeProgram& program = program_of(handle);
  if (!are_programs_of(*program.context, headers, header_list)) return CL_INVALID_PROGRAM;
  const cl_int error = for_each_shard_with_devices(
      program, count, list, [&](std::size_t shard, const std::vector<cl_device_id>& devices) {
        const std::vector<cl_program> some = shards_of(headers, header_list, shard);
        if (some.size() != headers) return CL_INVALID_PROGRAM;
        return client::clCompileProgram(program.shards[shard], static_cast<cl_uint>(devices.size()),
                                        devices.empty() ? nullptr : devices.data(), options, headers,
                                        some.empty() ? nullptr : some.data(), header_names, nullptr, nullptr);
      });
  notify_build_end(object_of(handle), error, notify, user_data);
  return error;
}

cl_program CL_API_CALL clLinkProgram(cl_context handle, cl_uint count, const cl_device_id* list,
                                     const char* options, cl_uint programs, const cl_program* program_list,
                                     BuildNotify notify, void* user_data, cl_int* error_ret) {
  if (programs == 0 || program_list == nullptr || (notify == nullptr && user_data != nullptr) ||
      (count == 0) != (list == nullptr))
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  if (!are_programs_of(context, programs, program_list))
    return fail<cl_program>(error_ret, CL_INVALID_PROGRAM);
  DevicesByShard shards;
  if (const cl_int error = split_by_shard(of, of.devices, count, list, shards); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  std::vector<Object*> devices = of.devices;
  if (count != 0) devices.clear();
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  // A program that failed to link may exist all the same, so that its log can be queried.
  cl_int linked = CL_SUCCESS;
  const auto link = [&](std::size_t shard, cl_int& error) -> cl_program {
    const auto& some = shards.devices[shard];
    if (count != 0 && some.empty()) return nullptr;
    const std::vector<cl_program> inputs = shards_of(programs, program_list, shard);
    if (inputs.empty()) return error = CL_INVALID_PROGRAM, nullptr;
    const cl_program made = client::clLinkProgram(of.shards[shard], static_cast<cl_uint>(some.size()),
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
  if (made != nullptr) notify_build_end(object_of(made), error, notify, user_data);
  return made;
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program handle, cl_device_id device_handle,
                                         cl_program_build_info name, size_t size, void* value,
                                         size_t* size_ret) {
  const CompositeProgram& program = program_of(handle);
  const Object* const device = find(device_handle);
  if (device == nullptr ||
      std::find(program.devices.begin(), program.devices.end(), device) == program.devices.end())
    return CL_INVALID_DEVICE;
  const cl_program shard = program.shards[shard_of(context_of(*program.context), device)];
  return shard == nullptr ? kConnectionLost
                          : client::clGetProgramBuildInfo(shard, device_handle, name, size, value, size_ret);
}

}  // namespace cleave::remote::client::multi_server
