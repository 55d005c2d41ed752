// Programs: made, asked about, and their ends. builds.cpp builds them.
#include "remote/client/api/programs.h"

#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

cl_program give_program(Object* object, ProgramState* state, cl_int error, cl_int* error_ret) {
  if (error != CL_SUCCESS) {
    delete state;
    client.objects.discard(*object);
    return fail<cl_program>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_program>(&client.objects.publish(*object, static_cast<ObjectState*>(state)));
}

cl_program create_with_il(cl_context handle, const void* il, std::size_t length, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (il == nullptr || length == 0) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->devices = of.devices;
  const auto* const bytes = static_cast<const std::byte*>(il);
  state->il.assign(bytes, bytes + length);
  PendingRequest pending;
  const cl_int error = of.connection->call(
      {}, pending, [&](auto& b) { return wire::CreateCreateProgramWithIL(b, state->id, of.id); },
      Box::contiguous(state->il.data(), length));
  return give_program(object, state, error, error_ret);
}

// Asked each time: a driver's binaries may grow with what it compiles. The program makes room by the answer.
cl_int get_binary_sizes(ProgramState& state, std::vector<std::size_t>& sizes) {
  std::vector<std::byte> bytes;
  const cl_int error = query_server(*state.connection, wire::InfoSubject::program, state.id, 0,
                                    CL_PROGRAM_BINARY_SIZES, 0, {}, nullptr, bytes);
  if (error != CL_SUCCESS) return error;
  sizes.resize(state.devices.size());
  if (bytes.size() != sizes.size() * sizeof sizes[0]) return CL_OUT_OF_RESOURCES;
  std::memcpy(sizes.data(), bytes.data(), bytes.size());
  const std::scoped_lock lock(state.mutex);
  state.reported_sizes = sizes;
  return CL_SUCCESS;
}

std::vector<std::size_t> room_for_binaries(ProgramState& state) {
  {
    const std::scoped_lock lock(state.mutex);
    if (!state.reported_sizes.empty()) return state.reported_sizes;
  }
  std::vector<std::size_t> sizes;
  get_binary_sizes(state, sizes);
  return sizes;
}

// What the server has of the binaries: all in one payload, their sizes beside it.
cl_int get_binaries(ProgramState& state, const InfoOutput& output) {
  const std::size_t room = state.devices.size() * sizeof(unsigned char*);
  if (output.value == nullptr) return output.write_bytes(nullptr, room);
  if (output.size < room) return CL_INVALID_VALUE;
  PendingRequest pending;
  pending.collect = true;
  const cl_int error = state.connection->call({}, pending, [&](auto& b) {
    return wire::CreateQuery(b, wire::InfoSubject::program, state.id, 0, CL_PROGRAM_BINARIES);
  });
  if (error != CL_SUCCESS) return error;
  const auto* const sizes = pending.answer() == nullptr ? nullptr : pending.answer()->values();
  const std::vector<std::size_t> rooms = room_for_binaries(state);
  std::size_t at = 0;
  for (std::size_t i = 0; sizes != nullptr && i < std::min<std::size_t>(sizes->size(), state.devices.size());
       ++i) {
    const auto size = static_cast<std::size_t>(sizes->Get(static_cast<flatbuffers::uoffset_t>(i)));
    const std::size_t room = i < rooms.size() ? rooms[i] : 0;
    if (size > pending.collected.size() - at || size > room) return CL_OUT_OF_RESOURCES;
    auto* const place = static_cast<unsigned char**>(output.value)[i];
    if (place != nullptr && size != 0) std::memcpy(place, pending.collected.data() + at, size);
    at += size;
  }
  if (output.size_ret != nullptr) *output.size_ret = room;
  return CL_SUCCESS;
}

}  // namespace

std::pair<Object*, ProgramState*> prepare_program(Object& context) {
  Connection& connection = *state_of<ContextState>(context).connection;
  const auto made = prepare<ProgramState>(context, connection, connection.new_id());
  if (made.first != nullptr) made.second->context = &context;
  return made;
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context handle, cl_uint count, const char** strings,
                                                 const size_t* lengths, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (count == 0 || strings == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  std::string source;
  for (cl_uint i = 0; i < count; ++i) {
    if (strings[i] == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
    const std::size_t length = lengths == nullptr || lengths[i] == 0 ? std::strlen(strings[i]) : lengths[i];
    source.append(strings[i], length);
  }
  const ContextState& of = state_of<ContextState>(*context);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->devices = of.devices;
  state->source = std::move(source);
  const cl_int error = of.connection->post_data(
      {}, Box::contiguous(state->source.data(), state->source.size()),
      [&](auto& b) { return wire::CreateCreateProgramWithSource(b, state->id, of.id); });
  return give_program(object, state, error, error_ret);
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void* il, size_t length,
                                             cl_int* error_ret) {
  return create_with_il(context, il, length, error_ret);
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context handle, cl_uint count, const cl_device_id* list,
                                                 const size_t* lengths, const unsigned char** binaries,
                                                 cl_int* binary_status, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (count == 0 || list == nullptr || lengths == nullptr || binaries == nullptr)
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  std::vector<Object*> devices;
  std::vector<std::byte> all;
  std::vector<std::uint64_t> sizes;
  for (cl_uint i = 0; i < count; ++i) {
    if (lengths[i] == 0 || binaries[i] == nullptr) {
      if (binary_status != nullptr) binary_status[i] = CL_INVALID_VALUE;
      return fail<cl_program>(error_ret, CL_INVALID_VALUE);
    }
    devices.push_back(find(list[i]));
    const auto* const bytes = reinterpret_cast<const std::byte*>(binaries[i]);
    all.insert(all.end(), bytes, bytes + lengths[i]);
    sizes.push_back(lengths[i]);
  }
  std::vector<Id> ids;
  if (!device_ids(of.devices, devices, ids)) return fail<cl_program>(error_ret, CL_INVALID_DEVICE);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->devices = devices;
  PendingRequest pending;
  const cl_int error = of.connection->call(
      {}, pending,
      [&](auto& b) {
        return wire::CreateCreateProgramWithBinary(b, state->id, of.id, b.CreateVector(ids),
                                                   b.CreateVector(sizes));
      },
      Box::contiguous(all.data(), all.size()));
  const auto* const states = pending.answer() == nullptr ? nullptr : pending.answer()->values();
  for (cl_uint i = 0; binary_status != nullptr && i < count; ++i) {
    const bool told = states != nullptr && i < states->size();
    binary_status[i] = told ? driver_error(static_cast<cl_int>(states->Get(i))) : error;
  }
  return give_program(object, state, error, error_ret);
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context handle, cl_uint count,
                                                         const cl_device_id* list, const char* names,
                                                         cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (count == 0 || list == nullptr || names == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  std::vector<Object*> devices;
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  std::vector<Id> ids;
  if (!device_ids(of.devices, devices, ids)) return fail<cl_program>(error_ret, CL_INVALID_DEVICE);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->devices = devices;
  PendingRequest pending;
  const cl_int error = of.connection->call({}, pending, [&](auto& b) {
    return wire::CreateCreateProgramWithBuiltInKernels(b, state->id, of.id, b.CreateVector(ids),
                                                       b.CreateString(names));
  });
  return give_program(object, state, error, error_ret);
}

cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  ProgramState& state = state_of<ProgramState>(*object);
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
      return output.write(references(*object));
    case CL_PROGRAM_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state.context));
    case CL_PROGRAM_NUM_DEVICES:
      return output.write(static_cast<cl_uint>(state.devices.size()));
    case CL_PROGRAM_DEVICES:
      return output.write_list(state.devices);
    case CL_PROGRAM_SOURCE:
      return output.write_string(state.source);
    case CL_PROGRAM_IL:
      return output.write_list(state.il);
    case CL_PROGRAM_BINARIES:
      return get_binaries(state, output);
    case CL_PROGRAM_BINARY_SIZES: {
      std::vector<std::size_t> sizes;
      const cl_int error = get_binary_sizes(state, sizes);
      return error != CL_SUCCESS ? error : output.write_list(sizes);
    }
    default:
      return cached_or_queried(*state.connection, state.infos, wire::InfoSubject::program, state.id, 0, name,
                               0, output);
  }
}

// The calls are ours to make, at our object's end; whether there are any is the driver's to say.
cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program handle,
                                               void(CL_CALLBACK* function)(cl_program, void*),
                                               void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  if (function == nullptr) return CL_INVALID_VALUE;
  ProgramState& state = state_of<ProgramState>(*object);
  PendingRequest pending;
  const cl_int error =
      state.connection->call({}, pending, [&](auto& b) { return wire::CreateWatchDestruction(b, state.id); });
  if (error != CL_SUCCESS) return error;
  const std::scoped_lock lock(state.destructor_callbacks.mutex);
  state.destructor_callbacks.callbacks.push_back({function, user_data});
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program handle, cl_uint constant, size_t size,
                                                      const void* value) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  if (value == nullptr || size == 0) return CL_INVALID_VALUE;
  const ProgramState& state = state_of<ProgramState>(*object);
  PendingRequest pending;
  return state.connection->call({}, pending, [&](auto& b) {
    return wire::CreateSetSpecializationConstant(
        b, state.id, constant, b.CreateVector(static_cast<const std::uint8_t*>(value), size));
  });
}

}  // namespace cleave::remote::client
