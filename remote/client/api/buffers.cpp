// Buffers, sub-buffers and pipes, and what is common to all memory objects.
#include <algorithm>

#include <sys/mman.h>

#include "remote/client/api/api.h"
#include "remote/client/api/memory.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

// A buffer up to this size is made without an answer: that it cannot be made is not to be expected.
constexpr std::size_t kMaxUncheckedBuffer = std::size_t{1} << 20U;

constexpr cl_mem_flags kAccess = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
constexpr cl_mem_flags kSent = ~static_cast<cl_mem_flags>(CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);

bool at_most_one(cl_mem_flags flags) { return (flags & (flags - 1)) == 0; }

cl_mem create_buffer(cl_context handle, const cl_mem_properties* properties, cl_mem_flags flags,
                     std::size_t size, void* host, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_CONTEXT);
  if (const cl_int error = check_flags(flags); error != CL_SUCCESS) return fail<cl_mem>(error_ret, error);
  const ContextState& of = state_of<ContextState>(*context);
  if (size == 0) return fail<cl_mem>(error_ret, CL_INVALID_BUFFER_SIZE);
  const bool with_host = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
  if (with_host != (host != nullptr)) return fail<cl_mem>(error_ret, CL_INVALID_HOST_PTR);
  const bool leaves_svm_block = (flags & CL_MEM_USE_HOST_PTR) != 0 && client.svm.find(host, 1) &&
                                !client.svm.holds(host, size, *of.connection);
  if (size > of.max_allocation || leaves_svm_block) return fail<cl_mem>(error_ret, CL_INVALID_BUFFER_SIZE);
  const auto both = prepare<MemoryState>(*context, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->context = context;
  state->flags = (flags & kAccess) == 0 ? flags | CL_MEM_READ_WRITE : flags;
  state->size = size;
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) state->host = host;
  state->svm = state->host != nullptr && client.svm.holds(host, size, *of.connection);
  state->properties = property_list(properties);
  std::vector<std::uint64_t> sent(state->properties.begin(), state->properties.end());
  if (!sent.empty()) sent.pop_back();
  const Box data = with_host && !state->svm ? Box::contiguous(host, size) : Box{};
  const std::uint64_t address = state->svm ? reinterpret_cast<std::uintptr_t>(host) : 0;
  const auto make = [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>> list;
    if (!sent.empty()) list = b.CreateVector(sent);
    return wire::CreateCreateBuffer(b, state->id, of.id, flags & kSent, size, list, address);
  };
  cl_int error = CL_SUCCESS;
  if (size <= kMaxUncheckedBuffer && sent.empty()) {
    error = of.connection->post_data({}, data, make);
  } else {
    PendingRequest pending;
    error = of.connection->call({}, pending, make, data);
  }
  return publish_memory(object, state, error, error_ret);
}

// What only the driver knows: how large it has made a pipe, and what flags it has given it.
cl_int query_driver(const MemoryState& state, wire::InfoSubject what, cl_uint name,
                    const InfoOutput& output) {
  std::vector<std::byte> bytes;
  const cl_int error = query_server(*state.connection, what, state.id, 0, name, 0, {}, nullptr, bytes);
  return error != CL_SUCCESS ? error : output.write_list(bytes);
}

// Whether a part's flags would allow the host what the whole buffer's do not, or name memory of its own. The
// server does not know of either.
bool conflicts(cl_mem_flags whole, cl_mem_flags part) {
  const cl_mem_flags asked = part & kHostAccess;
  const cl_mem_flags given = whole & kHostAccess;
  return (part & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0 ||
         (given != 0 && asked != 0 && asked != given && asked != CL_MEM_HOST_NO_ACCESS);
}

}  // namespace

cl_int check_flags(cl_mem_flags flags) {
  constexpr cl_mem_flags kKnown = kAccess | kHostAccess | kHostPointer | CL_MEM_KERNEL_READ_AND_WRITE;
  if ((flags & ~kKnown) != 0 || !at_most_one(flags & kAccess) || !at_most_one(flags & kHostAccess)) {
    return CL_INVALID_VALUE;
  }
  return (flags & CL_MEM_USE_HOST_PTR) != 0 && (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0
             ? CL_INVALID_VALUE
             : CL_SUCCESS;
}

std::vector<cl_mem_properties> property_list(const cl_mem_properties* properties) {
  std::vector<cl_mem_properties> list;
  if (properties == nullptr) return list;
  for (; *properties != 0; properties += 2) list.insert(list.end(), properties, properties + 2);
  list.push_back(0);
  return list;
}

cl_mem publish_memory(Object* object, MemoryState* state, cl_int error, cl_int* error_ret) {
  if (error != CL_SUCCESS) {
    delete state;
    client.objects.discard(*object);
    return fail<cl_mem>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_mem>(&client.objects.publish(*object, static_cast<ObjectState*>(state)));
}

MemoryState::~MemoryState() {
  if (shadow != nullptr) munmap(shadow, shadow_size);
}

cl_mem CL_API_CALL clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void* host,
                                  cl_int* error_ret) {
  return create_buffer(context, nullptr, flags, size, host, error_ret);
}

cl_mem CL_API_CALL clCreateBufferWithProperties(cl_context context, const cl_mem_properties* properties,
                                                cl_mem_flags flags, size_t size, void* host,
                                                cl_int* error_ret) {
  return create_buffer(context, properties, flags, size, host, error_ret);
}

cl_mem CL_API_CALL clCreateSubBuffer(cl_mem handle, cl_mem_flags flags, cl_buffer_create_type type,
                                     const void* create_info, cl_int* error_ret) {
  Object* const parent = find(handle);
  if (parent == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_MEM_OBJECT);
  const MemoryState& of = state_of<MemoryState>(*parent);
  if (of.type != CL_MEM_OBJECT_BUFFER || of.parent != nullptr)
    return fail<cl_mem>(error_ret, CL_INVALID_MEM_OBJECT);
  if (type != CL_BUFFER_CREATE_TYPE_REGION || create_info == nullptr)
    return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  if (conflicts(of.flags, flags)) return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  const cl_buffer_region region = *static_cast<const cl_buffer_region*>(create_info);
  const auto both = prepare<MemoryState>(*parent, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->context = of.context;
  state->parent = parent;
  state->size = region.size;
  state->origin = region.origin;
  state->flags = flags | ((flags & kAccess) == 0 ? of.flags & kAccess : 0) |
                 ((flags & kHostAccess) == 0 ? of.flags & kHostAccess : 0) | (of.flags & kHostPointer);
  if (of.host != nullptr) state->host = static_cast<std::byte*>(of.host) + region.origin;
  state->svm = of.svm;
  PendingRequest pending;
  const cl_int error = of.connection->call({}, pending, [&](auto& b) {
    return wire::CreateCreateSubBuffer(b, state->id, of.id, flags, region.origin, region.size);
  });
  return publish_memory(object, state, error, error_ret);
}

cl_mem CL_API_CALL clCreatePipe(cl_context handle, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                                const cl_pipe_properties* properties, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_CONTEXT);
  if (properties != nullptr) return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  const auto both = prepare<MemoryState>(*context, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->context = context;
  state->type = CL_MEM_OBJECT_PIPE;
  state->packet_size = packet_size;
  state->packets = packets;
  PendingRequest pending;
  const cl_int error = of.connection->call({}, pending, [&](auto& b) {
    return wire::CreateCreatePipe(b, state->id, of.id, flags, packet_size, packets);
  });
  return publish_memory(object, state, error, error_ret);
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem handle, cl_pipe_info name, size_t size, void* value,
                                 size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr || state_of<MemoryState>(*object).type != CL_MEM_OBJECT_PIPE)
    return CL_INVALID_MEM_OBJECT;
  const MemoryState& state = state_of<MemoryState>(*object);
  const InfoOutput output{size, value, size_ret};
  if (name == CL_PIPE_PACKET_SIZE) return output.write(state.packet_size);
  if (name == CL_PIPE_MAX_PACKETS) return output.write(state.packets);
  return query_driver(state, wire::InfoSubject::pipe, name, output);
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_MEM_OBJECT;
  MemoryState& state = state_of<MemoryState>(*object);
  const InfoOutput output{size, value, size_ret};
  if (state.type == CL_MEM_OBJECT_PIPE && (name == CL_MEM_FLAGS || name == CL_MEM_SIZE))
    return query_driver(state, wire::InfoSubject::memory, name, output);
  switch (name) {
    case CL_MEM_TYPE:
      return output.write(state.type);
    case CL_MEM_FLAGS:
      return output.write(state.flags);
    case CL_MEM_SIZE:
      return output.write(state.size);
    case CL_MEM_HOST_PTR:
      return output.write(state.host);
    case CL_MEM_MAP_COUNT: {
      const std::scoped_lock lock(state.mutex);
      return output.write(static_cast<cl_uint>(state.mappings.size()));
    }
    case CL_MEM_REFERENCE_COUNT:
      return output.write(references(*object));
    case CL_MEM_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state.context));
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      return output.write(objects::handle_of<cl_mem>(state.parent));
    case CL_MEM_OFFSET:
      return output.write(state.type == CL_MEM_OBJECT_BUFFER ? state.origin : std::size_t{0});
    case CL_MEM_USES_SVM_POINTER:
      return output.write(static_cast<cl_bool>(state.svm ? CL_TRUE : CL_FALSE));
    case CL_MEM_PROPERTIES:
      return output.write_list(state.properties);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK* function)(cl_mem, void*),
                                                    void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_MEM_OBJECT;
  if (function == nullptr) return CL_INVALID_VALUE;
  MemoryState& state = state_of<MemoryState>(*object);
  const std::scoped_lock lock(state.destructor_callbacks.mutex);
  if (state.destructor_callbacks.callbacks.empty()) {
    state.connection->post({}, [&](auto& b) { return wire::CreateWatchDestruction(b, state.id); });
  }
  state.destructor_callbacks.callbacks.push_back({function, user_data});
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client
