// Programs: made, asked about, and their ends. builds.cpp builds them.
#include "remote/client/programs.h"

#include <algorithm>

#include "remote/client/api.h"
#include "remote/client/info.h"
#include "remote/client/queries.h"
#include "remote/client/state.h"

namespace cleave::remote::client {
namespace {

cl_program give_program(Object* object, ProgramBody* body, cl_int error, cl_int* error_ret) {
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_program>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_program>(&client.objects.publish(*object, static_cast<Body*>(body)));
}

cl_program create_with_il(cl_context handle, const void* il, std::size_t length, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (il == nullptr || length == 0) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextBody& of = body_of<ContextBody>(*context);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->devices = of.devices;
  const auto* const bytes = static_cast<const std::byte*>(il);
  body->il.assign(bytes, bytes + length);
  Pending pending;
  const cl_int error = of.connection->ask(
      {}, pending, [&](auto& b) { return wire::CreateCreateProgramWithIL(b, body->id, of.id); },
      Box::line(body->il.data(), length));
  return give_program(object, body, error, error_ret);
}

// Asked each time: a driver's binaries may grow with what it compiles. The program makes room by the answer.
cl_int get_binary_sizes(ProgramBody& body, std::vector<std::size_t>& sizes) {
  std::vector<std::byte> bytes;
  const cl_int error = ask_server(*body.connection, wire::What::program, body.id, 0, CL_PROGRAM_BINARY_SIZES,
                                  0, {}, nullptr, bytes);
  if (error != CL_SUCCESS) return error;
  sizes.resize(body.devices.size());
  if (bytes.size() != sizes.size() * sizeof sizes[0]) return CL_OUT_OF_RESOURCES;
  std::memcpy(sizes.data(), bytes.data(), bytes.size());
  const std::scoped_lock lock(body.mutex);
  body.told_sizes = sizes;
  return CL_SUCCESS;
}

std::vector<std::size_t> room_for_binaries(ProgramBody& body) {
  {
    const std::scoped_lock lock(body.mutex);
    if (!body.told_sizes.empty()) return body.told_sizes;
  }
  std::vector<std::size_t> sizes;
  get_binary_sizes(body, sizes);
  return sizes;
}

// What the server has of the binaries: all in one payload, their sizes beside it.
cl_int get_binaries(ProgramBody& body, const Answer& answer) {
  const std::size_t room = body.devices.size() * sizeof(unsigned char*);
  if (answer.value == nullptr) return answer.give_bytes(nullptr, room);
  if (answer.size < room) return CL_INVALID_VALUE;
  Pending pending;
  pending.collects = true;
  const cl_int error = body.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateQuery(b, wire::What::program, body.id, 0, CL_PROGRAM_BINARIES);
  });
  if (error != CL_SUCCESS) return error;
  const auto* const sizes = pending.details() == nullptr ? nullptr : pending.details()->values();
  const std::vector<std::size_t> rooms = room_for_binaries(body);
  std::size_t at = 0;
  for (std::size_t i = 0; sizes != nullptr && i < std::min<std::size_t>(sizes->size(), body.devices.size());
       ++i) {
    const auto size = static_cast<std::size_t>(sizes->Get(static_cast<flatbuffers::uoffset_t>(i)));
    const std::size_t room = i < rooms.size() ? rooms[i] : 0;
    if (size > pending.collected.size() - at || size > room) return CL_OUT_OF_RESOURCES;
    auto* const place = static_cast<unsigned char**>(answer.value)[i];
    if (place != nullptr && size != 0) std::memcpy(place, pending.collected.data() + at, size);
    at += size;
  }
  if (answer.size_ret != nullptr) *answer.size_ret = room;
  return CL_SUCCESS;
}

}  // namespace

std::pair<Object*, ProgramBody*> prepare_program(Object& context) {
  Connection& connection = *body_of<ContextBody>(context).connection;
  const auto made = prepare<ProgramBody>(context, connection, connection.new_id());
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
  const ContextBody& of = body_of<ContextBody>(*context);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->devices = of.devices;
  body->source = std::move(source);
  const cl_int error = of.connection->post_data(
      {}, Box::line(body->source.data(), body->source.size()),
      [&](auto& b) { return wire::CreateCreateProgramWithSource(b, body->id, of.id); });
  return give_program(object, body, error, error_ret);
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
  const ContextBody& of = body_of<ContextBody>(*context);
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
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->devices = devices;
  Pending pending;
  const cl_int error = of.connection->ask(
      {}, pending,
      [&](auto& b) {
        return wire::CreateCreateProgramWithBinary(b, body->id, of.id, b.CreateVector(ids),
                                                   b.CreateVector(sizes));
      },
      Box::line(all.data(), all.size()));
  const auto* const states = pending.details() == nullptr ? nullptr : pending.details()->values();
  for (cl_uint i = 0; binary_status != nullptr && i < count; ++i) {
    const bool told = states != nullptr && i < states->size();
    binary_status[i] = told ? error_of(static_cast<cl_int>(states->Get(i))) : error;
  }
  return give_program(object, body, error, error_ret);
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context handle, cl_uint count,
                                                         const cl_device_id* list, const char* names,
                                                         cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_program>(error_ret, CL_INVALID_CONTEXT);
  if (count == 0 || list == nullptr || names == nullptr) return fail<cl_program>(error_ret, CL_INVALID_VALUE);
  const ContextBody& of = body_of<ContextBody>(*context);
  std::vector<Object*> devices;
  for (cl_uint i = 0; i < count; ++i) devices.push_back(find(list[i]));
  std::vector<Id> ids;
  if (!device_ids(of.devices, devices, ids)) return fail<cl_program>(error_ret, CL_INVALID_DEVICE);
  const auto both = prepare_program(*context);
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_program>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->devices = devices;
  Pending pending;
  const cl_int error = of.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateCreateProgramWithBuiltInKernels(b, body->id, of.id, b.CreateVector(ids),
                                                       b.CreateString(names));
  });
  return give_program(object, body, error, error_ret);
}

cl_int CL_API_CALL clGetProgramInfo(cl_program handle, cl_program_info name, size_t size, void* value,
                                    size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  ProgramBody& body = body_of<ProgramBody>(*object);
  const Answer answer{size, value, size_ret};
  switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
      return answer.give(references(*object));
    case CL_PROGRAM_CONTEXT:
      return answer.give(objects::handle_of<cl_context>(body.context));
    case CL_PROGRAM_NUM_DEVICES:
      return answer.give(static_cast<cl_uint>(body.devices.size()));
    case CL_PROGRAM_DEVICES:
      return answer.give_list(body.devices);
    case CL_PROGRAM_SOURCE:
      return answer.give_text(body.source);
    case CL_PROGRAM_IL:
      return answer.give_list(body.il);
    case CL_PROGRAM_BINARIES:
      return get_binaries(body, answer);
    case CL_PROGRAM_BINARY_SIZES: {
      std::vector<std::size_t> sizes;
      const cl_int error = get_binary_sizes(body, sizes);
      return error != CL_SUCCESS ? error : answer.give_list(sizes);
    }
    default:
      return answer_from(*body.connection, body.infos, wire::What::program, body.id, 0, name, 0, answer);
  }
}

// The calls are ours to make, at our object's end; whether there are any is the driver's to say.
cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program handle,
                                               void(CL_CALLBACK* function)(cl_program, void*),
                                               void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  if (function == nullptr) return CL_INVALID_VALUE;
  ProgramBody& body = body_of<ProgramBody>(*object);
  Pending pending;
  const cl_int error =
      body.connection->ask({}, pending, [&](auto& b) { return wire::CreateWatchDestruction(b, body.id); });
  if (error != CL_SUCCESS) return error;
  const std::scoped_lock lock(body.at_end.mutex);
  body.at_end.calls.push_back({function, user_data});
  return CL_SUCCESS;
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program handle, cl_uint constant, size_t size,
                                                      const void* value) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_PROGRAM;
  if (value == nullptr || size == 0) return CL_INVALID_VALUE;
  const ProgramBody& body = body_of<ProgramBody>(*object);
  Pending pending;
  return body.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateSetSpecializationConstant(
        b, body.id, constant, b.CreateVector(static_cast<const std::uint8_t*>(value), size));
  });
}

}  // namespace cleave::remote::client
