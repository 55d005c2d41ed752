// Programs: one on each server that has devices which it is for.
#include "remote/client/spread/programs.h"

#include <algorithm>

#include "remote/client/spread/api.h"

namespace cleave::remote::client::spread {
namespace {

std::vector<Object*> objects_of(cl_uint count, const cl_device_id* list) {
  std::vector<Object*> devices;
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  return devices;
}

// Of each device, in the order of the whole's: where it is in its part's list.
struct Place {
  std::size_t part;
  std::size_t index;
};

std::vector<Place> places_of(const WholeProgram& program) {
  const WholeContext& context = context_of(*program.context);
  std::vector<std::size_t> next(program.parts.size(), 0);
  std::vector<Place> places;
  for (const Object* const device : program.devices) {
    const std::size_t part = part_of(context, device);
    places.push_back({part, next[part]++});
  }
  return places;
}

std::vector<std::size_t> sizes_of(cl_program part, cl_int& error) {
  size_t bytes = 0;
  error = client::clGetProgramInfo(part, CL_PROGRAM_BINARY_SIZES, 0, nullptr, &bytes);
  std::vector<std::size_t> sizes(bytes / sizeof(std::size_t));
  if (error == CL_SUCCESS && !sizes.empty())
    error = client::clGetProgramInfo(part, CL_PROGRAM_BINARY_SIZES, bytes, sizes.data(), nullptr);
  return sizes;
}

cl_int give_sizes(const WholeProgram& program, const Answer& answer) {
  std::vector<std::vector<std::size_t>> sizes(program.parts.size());
  for (std::size_t part = 0; part < program.parts.size(); ++part) {
    if (program.parts[part] == nullptr) continue;
    cl_int error = CL_SUCCESS;
    sizes[part] = sizes_of(program.parts[part], error);
    if (error != CL_SUCCESS && connection_of(context_of(*program.context), part).alive()) return error;
  }
  std::vector<std::size_t> all;
  for (const Place place : places_of(program)) {
    const auto& some = sizes[place.part];
    all.push_back(place.index < some.size() ? some[place.index] : 0);
  }
  return answer.give_list(all);
}

cl_int give_binaries(const WholeProgram& program, const Answer& answer) {
  const std::size_t room = program.devices.size() * sizeof(unsigned char*);
  if (answer.value == nullptr) return answer.give_bytes(nullptr, room);
  if (answer.size < room) return CL_INVALID_VALUE;
  const std::vector<Place> places = places_of(program);
  for (std::size_t part = 0; part < program.parts.size(); ++part) {
    if (program.parts[part] == nullptr) continue;
    std::vector<unsigned char*> targets;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].part == part) targets.push_back(static_cast<unsigned char**>(answer.value)[i]);
    }
    const cl_int error =
        client::clGetProgramInfo(program.parts[part], CL_PROGRAM_BINARIES,
                                 targets.size() * sizeof(unsigned char*), targets.data(), nullptr);
    if (error != CL_SUCCESS && connection_of(context_of(*program.context), part).alive()) return error;
  }
  if (answer.size_ret != nullptr) *answer.size_ret = room;
  return CL_SUCCESS;
}

}  // namespace

cl_int split(const WholeContext& context, const std::vector<Object*>& known, cl_uint count,
             const cl_device_id* list, Split& split) {
  split.devices.resize(context.parts.size());
  split.places.resize(context.parts.size());
  for (cl_uint i = 0; i < count; ++i) {
    const Object* const device = find(list[i]);
    if (device == nullptr || std::find(known.begin(), known.end(), device) == known.end())
      return CL_INVALID_DEVICE;
    const std::size_t part = part_of(context, device);
    split.devices[part].push_back(list[i]);
    split.places[part].push_back(i);
  }
  return CL_SUCCESS;
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context handle, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* error_ret) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  return create_program(context, of.devices, error_ret, [&](std::size_t part, cl_int& error) {
    return client::clCreateProgramWithSource(of.parts[part], count, strings, lengths, &error);
  });
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context handle, const void* il, size_t length,
                                             cl_int* error_ret) {
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  return create_program(context, of.devices, error_ret, [&](std::size_t part, cl_int& error) {
    return client::clCreateProgramWithIL(of.parts[part], il, length, &error);
  });
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context handle, cl_uint count, const cl_device_id* list,
                                                 const size_t* lengths, const unsigned char** binaries,
                                                 cl_int* binary_status, cl_int* error_ret) {
  if (count == 0 || list == nullptr || lengths == nullptr || binaries == nullptr)
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  Split parts;
  if (const cl_int error = split(of, of.devices, count, list, parts); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  const auto make = [&](std::size_t part, cl_int& error) -> cl_program {
    const auto& devices = parts.devices[part];
    if (devices.empty()) return nullptr;
    std::vector<size_t> sizes;
    std::vector<const unsigned char*> some;
    std::vector<cl_int> states(devices.size(), CL_SUCCESS);
    for (const std::size_t place : parts.places[part]) {
      sizes.push_back(lengths[place]);
      some.push_back(binaries[place]);
    }
    const cl_program made =
        client::clCreateProgramWithBinary(of.parts[part], static_cast<cl_uint>(devices.size()),
                                          devices.data(), sizes.data(), some.data(), states.data(), &error);
    for (std::size_t i = 0; binary_status != nullptr && i < states.size(); ++i)
      binary_status[parts.places[part][i]] = states[i];
    return made;
  };
  return create_program(context, objects_of(count, list), error_ret, make);
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context handle, cl_uint count,
                                                         const cl_device_id* list, const char* names,
                                                         cl_int* error_ret) {
  if (count == 0 || list == nullptr || names == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  Object& context = *find(handle);
  const WholeContext& of = context_of(context);
  Split parts;
  if (const cl_int error = split(of, of.devices, count, list, parts); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  return create_program(
      context, objects_of(count, list), error_ret, [&](std::size_t part, cl_int& error) -> cl_program {
        const auto& devices = parts.devices[part];
        if (devices.empty()) return nullptr;
        return client::clCreateProgramWithBuiltInKernels(of.parts[part], static_cast<cl_uint>(devices.size()),
                                                         devices.data(), names, &error);
      });
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program handle, cl_uint constant, size_t size,
                                                      const void* value) {
  cl_int error = CL_SUCCESS;
  for (const cl_program part : program_of(handle).parts) {
    if (part == nullptr || error != CL_SUCCESS) continue;
    error = client::clSetProgramSpecializationConstant(part, constant, size, value);
  }
  return error;
}

// What is not a list with an entry for each device is alike on all servers where the program was built.
cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) {
  const WholeProgram& program = program_of(handle);
  const Answer answer{size, value, size_ret};
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
    case CL_PROGRAM_CONTEXT:
    case CL_PROGRAM_NUM_DEVICES:
    case CL_PROGRAM_DEVICES:
    case CL_PROGRAM_SOURCE:
    case CL_PROGRAM_IL:
      return client::clGetProgramInfo(handle, name, size, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES:
      return give_sizes(program, answer);
    case CL_PROGRAM_BINARIES:
      return give_binaries(program, answer);
    default:
      break;
  }
  cl_int error = kGone;
  for (const cl_program part : program.parts) {
    if (part == nullptr || error == CL_SUCCESS) continue;
    error = client::clGetProgramInfo(part, name, size, value, size_ret);
  }
  return error;
}

}  // namespace cleave::remote::client::spread
