// Creating programs and querying them. program_builds.cpp builds them.
#include "remote/client/api/programs.h"

#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

// Creates a program for these devices; send(state) fills in the rest and sends the command.
template <typename Send>
cl_program create_program(Object& context, std::vector<Object*> devices, cl_int* error_ret, Send send) {
  Connection& connection = *state_of<ContextState>(context).connection;
  NewObject<ProgramState> made(context, connection, connection.new_id());
  if (!made) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = &context;
  made->devices = std::move(devices);
  return made.finish(send(*made), error_ret);
}

// Those of the context, or, where these are sub-devices, what the driver says: some make programs for the devices that these are of.
std::vector<Object*> devices_of(const ProgramState& state) {
  std::vector<Object*> known = state.devices;
  for (const Object* const each : state.devices) {
    Object* const parent = state_of<DeviceState>(*each).parent;
    if (parent != nullptr) known.push_back(parent);
  }
  if (known.size() == state.devices.size()) return known;
  std::vector<std::byte> bytes;
  query_server(*state.connection, {wire::InfoSubject::program, state.id, CL_PROGRAM_DEVICES}, bytes);
  std::vector<Id> ids(bytes.size() / sizeof(Id));
  if (!ids.empty()) std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof(Id));
  std::vector<Object*> devices;
  for (const Id id : ids) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [id](const Object* one) { return state_of<DeviceState>(*one).id == id; });
    if (found == known.end()) return state.devices;
    devices.push_back(*found);
  }
  return devices.empty() ? state.devices : devices;  // an older server answers nothing
}

// Not cached: a driver's binaries may grow with what it compiles. In a context of sub-devices some drivers count other devices than
// the context has.
cl_int query_binary_sizes(ProgramState& state, std::vector<std::size_t>& sizes) {
  std::vector<std::byte> bytes;
  const cl_int error =
      query_server(*state.connection, {wire::InfoSubject::program, state.id, CL_PROGRAM_BINARY_SIZES}, bytes);
  if (error != CL_SUCCESS) return error;
  sizes.resize(bytes.size() / sizeof sizes[0]);
  if (sizes.empty()) return CL_OUT_OF_RESOURCES;
  std::memcpy(sizes.data(), bytes.data(), bytes.size());
  return CL_SUCCESS;
}

// The program allocates what is reported here.
cl_int get_binary_sizes(ProgramState& state, const InfoOutput& output) {
  std::vector<std::size_t> sizes;
  if (const cl_int error = query_binary_sizes(state, sizes); error != CL_SUCCESS) return error;
  {
    const base::MutexLock lock(state.mutex);
    state.reported_sizes = sizes;
  }
  return output.write_list(sizes);
}

// The server sends all binaries in one payload, and their sizes in the answer.
cl_int get_binaries(ProgramState& state, const InfoOutput& output) {
  std::vector<std::size_t> rooms;
  if (const cl_int error = query_binary_sizes(state, rooms); error != CL_SUCCESS) return error;
  const std::size_t count = rooms.size();
  const std::size_t room = count * sizeof(unsigned char*);
  if (output.value == nullptr) return output.write_bytes(nullptr, room);
  if (output.size < room) return CL_INVALID_VALUE;
  PendingRequest pending;
  pending.collect = true;
  const cl_int error = state.connection->call({}, pending, [&](auto& b) {
    return wire::CreateQuery(b, wire::InfoSubject::program, state.id, 0, CL_PROGRAM_BINARIES);
  });
  if (error != CL_SUCCESS) return error;
  const auto* const sizes = pending.answer() == nullptr ? nullptr : pending.answer()->values();
  {
    const base::MutexLock lock(state.mutex);
    if (!state.reported_sizes.empty()) rooms = state.reported_sizes;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; sizes != nullptr && i < std::min<std::size_t>(sizes->size(), count); ++i) {
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

cl_int resolve_devices(const std::vector<Object*>& known, cl_uint count, const cl_device_id* list,
                       std::vector<Object*>& devices, std::vector<Id>& ids) {
  for (cl_uint i = 0; i < count; ++i) {
    Object* const device = find(list[i]);
    if (device == nullptr || std::find(known.begin(), known.end(), device) == known.end())
      return CL_INVALID_DEVICE;
    devices.push_back(device);
    ids.push_back(state_of<DeviceState>(*device).id);
  }
  return CL_SUCCESS;
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
  return create_program(*context, of.devices, error_ret, [&](ProgramState& made) {
    made.source = std::move(source);
    return of.connection->post_data(
        {}, Box::contiguous(made.source.data(), made.source.size()),
        [&](auto& b) { return wire::CreateCreateProgramWithSource(b, made.id, of.id); });
  });
}

cl_program CL_API_CALL clCreateProgramWithIL(cl_context handle, const void* il, size_t length,
                                             cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (il == nullptr || length == 0) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  return create_program(*context, of.devices, error_ret, [&](ProgramState& made) {
    const auto* const bytes = static_cast<const std::byte*>(il);
    made.il.assign(bytes, bytes + length);
    return of.connection->call(
        {}, [&](auto& b) { return wire::CreateCreateProgramWithIL(b, made.id, of.id); },
        Box::contiguous(made.il.data(), length));
  });
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context handle, cl_uint count, const cl_device_id* list,
                                                 const size_t* lengths, const unsigned char** binaries,
                                                 cl_int* binary_status, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (count == 0 || list == nullptr || lengths == nullptr || binaries == nullptr)
    return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  std::vector<std::byte> all;
  std::vector<std::uint64_t> sizes;
  for (cl_uint i = 0; i < count; ++i) {
    if (lengths[i] == 0 || binaries[i] == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
    const auto* const bytes = reinterpret_cast<const std::byte*>(binaries[i]);
    all.insert(all.end(), bytes, bytes + lengths[i]);
    sizes.push_back(lengths[i]);
  }
  std::vector<Object*> devices;
  std::vector<Id> ids;
  if (const cl_int error = resolve_devices(of.devices, count, list, devices, ids); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  return create_program(*context, std::move(devices), error_ret, [&](ProgramState& made) {
    PendingRequest pending;
    const cl_int error = of.connection->call(
        {}, pending,
        [&](auto& b) {
          return wire::CreateCreateProgramWithBinary(b, made.id, of.id, b.CreateVector(ids),
                                                     b.CreateVector(sizes));
        },
        Box::contiguous(all.data(), all.size()));
    const auto* const statuses = pending.answer() == nullptr ? nullptr : pending.answer()->values();
    for (cl_uint i = 0; binary_status != nullptr && i < count; ++i) {
      const bool reported = statuses != nullptr && i < statuses->size();
      binary_status[i] = reported ? driver_error(static_cast<cl_int>(statuses->Get(i))) : error;
    }
    return error;
  });
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context handle, cl_uint count,
                                                         const cl_device_id* list, const char* names,
                                                         cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (count == 0 || list == nullptr || names == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  std::vector<Object*> devices;
  std::vector<Id> ids;
  if (const cl_int error = resolve_devices(of.devices, count, list, devices, ids); error != CL_SUCCESS)
    return fail<cl_program>(error_ret, error);
  return create_program(*context, std::move(devices), error_ret, [&](ProgramState& made) {
    return of.connection->call({}, [&](auto& b) {
      return wire::CreateCreateProgramWithBuiltInKernels(b, made.id, of.id, b.CreateVector(ids),
                                                         b.CreateString(names));
    });
  });
}

cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) {
  ProgramState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_PROGRAM;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_PROGRAM_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state->context));
    case CL_PROGRAM_NUM_DEVICES:
      return output.write(static_cast<cl_uint>(devices_of(*state).size()));
    case CL_PROGRAM_DEVICES:
      return output.write_list(devices_of(*state));
    case CL_PROGRAM_SOURCE:
      return output.write_string(state->source);
    case CL_PROGRAM_IL:
      return output.write_list(state->il);
    case CL_PROGRAM_BINARIES:
      return get_binaries(*state, output);
    case CL_PROGRAM_BINARY_SIZES:
      return get_binary_sizes(*state, output);
    default:
      return cached_or_queried(*state->connection, state->infos,
                               {wire::InfoSubject::program, state->id, name}, output);
  }
}

// The driver decides whether such callbacks are possible; they are called here, when our object ends.
cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program handle,
                                               void(CL_CALLBACK* function)(cl_program, void*),
                                               void* user_data) {
  ProgramState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_PROGRAM;
  if (function == nullptr) return CL_INVALID_VALUE;
  const cl_int error =
      state->connection->call({}, [&](auto& b) { return wire::CreateWatchDestruction(b, state->id); });
  if (error != CL_SUCCESS) return error;
  state->destructor_callbacks.add(function, user_data);
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program handle, cl_uint constant, size_t size,
                                                      const void* value) {
  const ProgramState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_PROGRAM;
  if (value == nullptr || size == 0) return CL_INVALID_VALUE;
  return state->connection->call({}, [&](auto& b) {
    return wire::CreateSetSpecializationConstant(
        b, state->id, constant, b.CreateVector(static_cast<const std::uint8_t*>(value), size));
  });
}

}  // namespace cleave::remote::client
