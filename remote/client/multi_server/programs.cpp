// Programs: a shard on each server that has devices of the program.
#include "remote/client/multi_server/programs.h"

#include <algorithm>

#include "remote/client/multi_server/api.h"

namespace cleave::remote::client::multi_server {
namespace {

std::vector<Object*> objects_of(cl_uint count, const cl_device_id* list) {
  std::vector<Object*> devices;
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  return devices;
}

// For each device of the composite, in order: its shard, and its index in the shard's list.
struct ShardIndex {
  std::size_t shard;
  std::size_t index;
};

std::vector<ShardIndex> places_of(const CompositeProgram& program) {
  const CompositeContext& context = context_of(*program.context);
  std::vector<std::size_t> next(program.shards.size(), 0);
  std::vector<ShardIndex> places;
  for (const Object* const device : program.devices) {
    const std::size_t shard = shard_of(context, device);
    places.push_back({shard, next[shard]++});
  }
  return places;
}

std::vector<std::size_t> sizes_of(cl_program shard, cl_int& error) {
  size_t bytes = 0;
  error = client::clGetProgramInfo(shard, CL_PROGRAM_BINARY_SIZES, 0, nullptr, &bytes);
  std::vector<std::size_t> sizes(bytes / sizeof(std::size_t));
  if (error == CL_SUCCESS && !sizes.empty())
    error = client::clGetProgramInfo(shard, CL_PROGRAM_BINARY_SIZES, bytes, sizes.data(), nullptr);
  return sizes;
}

cl_int write_binary_sizes(const CompositeProgram& program, const InfoOutput& output) {
  std::vector<std::vector<std::size_t>> sizes(program.shards.size());
  for (std::size_t shard = 0; shard < program.shards.size(); ++shard) {
    if (program.shards[shard] == nullptr) continue;
    cl_int error = CL_SUCCESS;
    sizes[shard] = sizes_of(program.shards[shard], error);
    if (error != CL_SUCCESS && connection_of(context_of(*program.context), shard).alive()) return error;
  }
  std::vector<std::size_t> all;
  for (const ShardIndex place : places_of(program)) {
    const auto& some = sizes[place.shard];
    all.push_back(place.index < some.size() ? some[place.index] : 0);
  }
  return output.write_list(all);
}

cl_int write_binaries(const CompositeProgram& program, const InfoOutput& output) {
  const std::size_t room = program.devices.size() * sizeof(unsigned char*);
  if (output.value == nullptr) return output.write_bytes(nullptr, room);
  if (output.size < room) return CL_INVALID_VALUE;
  const std::vector<ShardIndex> places = places_of(program);
  for (std::size_t shard = 0; shard < program.shards.size(); ++shard) {
    if (program.shards[shard] == nullptr) continue;
    std::vector<unsigned char*> targets;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].shard == shard) targets.push_back(static_cast<unsigned char**>(output.value)[i]);
    }
    const cl_int error =
        client::clGetProgramInfo(program.shards[shard], CL_PROGRAM_BINARIES,
                                 targets.size() * sizeof(unsigned char*), targets.data(), nullptr);
    if (error != CL_SUCCESS && connection_of(context_of(*program.context), shard).alive()) return error;
  }
  if (output.size_ret != nullptr) *output.size_ret = room;
  return CL_SUCCESS;
}

}  // namespace

cl_int split_by_shard(const CompositeContext& context, const std::vector<Object*>& known, cl_uint count,
                      const cl_device_id* list, DevicesByShard& result) {
  result.devices.resize(context.shards.size());
  result.places.resize(context.shards.size());
  for (cl_uint i = 0; i < count; ++i) {
    const Object* const device = find(list[i]);
    if (device == nullptr || std::find(known.begin(), known.end(), device) == known.end())
      return CL_INVALID_DEVICE;
    const std::size_t shard = shard_of(context, device);
    result.devices[shard].push_back(list[i]);
    result.places[shard].push_back(i);
  }
  return CL_SUCCESS;
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context handle, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* error_ret) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  return create_program(context, of.devices, error_ret, [&](std::size_t shard, cl_int& error) {
    return client::clCreateProgramWithSource(of.shards[shard], count, strings, lengths, &error);
  });
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context handle, const void* il, size_t length,
                                             cl_int* error_ret) {
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  return create_program(context, of.devices, error_ret, [&](std::size_t shard, cl_int& error) {
    return client::clCreateProgramWithIL(of.shards[shard], il, length, &error);
  });
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context handle, cl_uint count, const cl_device_id* list,
                                                 const size_t* lengths, const unsigned char** binaries,
                                                 cl_int* binary_status, cl_int* error_ret) {
  if (count == 0 || list == nullptr || lengths == nullptr || binaries == nullptr)
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  DevicesByShard shards;
  if (const cl_int error = split_by_shard(of, of.devices, count, list, shards); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  const auto make = [&](std::size_t shard, cl_int& error) -> cl_program {
    const auto& devices = shards.devices[shard];
    if (devices.empty()) return nullptr;
    std::vector<size_t> sizes;
    std::vector<const unsigned char*> some;
    std::vector<cl_int> states(devices.size(), CL_SUCCESS);
    for (const std::size_t place : shards.places[shard]) {
      sizes.push_back(lengths[place]);
      some.push_back(binaries[place]);
    }
    const cl_program made =
        client::clCreateProgramWithBinary(of.shards[shard], static_cast<cl_uint>(devices.size()),
                                          devices.data(), sizes.data(), some.data(), states.data(), &error);
    for (std::size_t i = 0; binary_status != nullptr && i < states.size(); ++i)
      binary_status[shards.places[shard][i]] = states[i];
    return made;
  };
  return create_program(context, objects_of(count, list), error_ret, make);
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context handle, cl_uint count,
                                                         const cl_device_id* list, const char* names,
                                                         cl_int* error_ret) {
  if (count == 0 || list == nullptr || names == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  Object& context = object_of(handle);
  const CompositeContext& of = context_of(context);
  DevicesByShard shards;
  if (const cl_int error = split_by_shard(of, of.devices, count, list, shards); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  return create_program(
      context, objects_of(count, list), error_ret, [&](std::size_t shard, cl_int& error) -> cl_program {
        const auto& devices = shards.devices[shard];
        if (devices.empty()) return nullptr;
        return client::clCreateProgramWithBuiltInKernels(
            of.shards[shard], static_cast<cl_uint>(devices.size()), devices.data(), names, &error);
      });
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program handle, cl_uint constant, size_t size,
                                                      const void* value) {
  cl_int error = CL_SUCCESS;
  for (const cl_program shard : program_of(handle).shards) {
    if (shard == nullptr || error != CL_SUCCESS) continue;
    error = client::clSetProgramSpecializationConstant(shard, constant, size, value);
  }
  return error;
}

// What has no entry for each device is the same on all servers where the program was built.
cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) {
  const CompositeProgram& program = program_of(handle);
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
    case CL_PROGRAM_CONTEXT:
    case CL_PROGRAM_NUM_DEVICES:
    case CL_PROGRAM_DEVICES:
    case CL_PROGRAM_SOURCE:
    case CL_PROGRAM_IL:
      return client::clGetProgramInfo(handle, name, size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES:
      return write_binary_sizes(program, output);
    case CL_PROGRAM_BINARIES:
      return write_binaries(program, output);
    default:
      break;
  }
  cl_int error = kConnectionLost;
  for (const cl_program shard : program.shards) {
    if (shard == nullptr || error == CL_SUCCESS) continue;
    error = client::clGetProgramInfo(shard, name, size, value, size_ret);
  }
  return error;
}

}  // namespace cleave::remote::client::multi_server
