// Creating buffers, sub-buffers and pipes, and the functions for all kinds of memory objects.
#include "remote/client/api/api.h"
#include "remote/client/api/memory.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

// Buffers up to this size are created without waiting for the answer: they are not expected to fail.
constexpr std::size_t kMaxUncheckedBuffer = std::size_t{1} << 20U;

constexpr cl_mem_flags kHostAccess = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kHostPointer = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
constexpr cl_mem_flags kForwardedFlags = ~kHostData;

bool at_most_one(cl_mem_flags flags) { return (flags & (flags - 1)) == 0; }

// By the specification.
cl_int check_creation(const ContextState& context, cl_mem_flags flags, std::size_t size, const void* host) {
  if (const cl_int error = check_flags(flags); error != CL_SUCCESS) return error;
  if (size == 0 || size > context.max_allocation) return CL_INVALID_BUFFER_SIZE;
  return ((flags & kHostData) != 0) != (host != nullptr) ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

cl_mem create_buffer(cl_context handle, const cl_mem_properties* properties, cl_mem_flags flags,
                     std::size_t size, void* host, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_CONTEXT);
  const ContextState& of = state_of<ContextState>(*context);
  const bool with_host = (flags & kHostData) != 0;
  if (const cl_int error = check_creation(of, flags, size, host); error != CL_SUCCESS) {
    const auto list = property_list(properties);
    const cl_int judged =
        judged_by_driver(*of.connection, error, host != nullptr, with_host, [&](auto& b, wire::Trial trial) {
          return wire::CreateCreateBuffer(b, of.connection->new_id(), of.id, flags, size,
                                          wire_properties(b, list), 0, trial);
        });
    if (judged != CL_SUCCESS) return fail<cl_mem>(error_ret, judged);
    if (size == 0 || with_host != (host != nullptr)) return fail<cl_mem>(error_ret, error);
  }
  const bool leaves_svm_block = (flags & CL_MEM_USE_HOST_PTR) != 0 && client.svm.find(host, 1) &&
                                !client.svm.holds(host, size, *of.connection);
  if (leaves_svm_block) return fail<cl_mem>(error_ret, CL_INVALID_BUFFER_SIZE);
  NewObject<MemoryState> made(*context, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->flags = (flags & kAccessFlags) == 0 ? flags | CL_MEM_READ_WRITE : flags;
  made->size = size;
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) made->host = host;
  made->svm = made->host != nullptr && client.svm.holds(host, size, *of.connection);
  made->properties = property_list(properties);
  const Box data = with_host && !made->svm ? Box::contiguous(host, size) : Box{};
  const std::uint64_t address = made->svm ? reinterpret_cast<std::uintptr_t>(host) : 0;
  const auto make = [&](auto& b) {
    return wire::CreateCreateBuffer(b, made->id, of.id, flags & kForwardedFlags, size,
                                    wire_properties(b, made->properties), address);
  };
  const bool has_properties = made->properties.size() > 1;  // besides the ending zero
  if (size <= kMaxUncheckedBuffer && !has_properties)
    return made.finish(of.connection->post_data({}, data, make), error_ret);
  return made.create(error_ret, make, data);
}

// Whether a sub-buffer's flags would allow the host more than its buffer's, or name host memory. The server, which gets
// neither kind of flag, cannot check that.
bool conflicts(cl_mem_flags buffer, cl_mem_flags sub_buffer) {
  const cl_mem_flags wanted = sub_buffer & kHostAccess;
  const cl_mem_flags allowed = buffer & kHostAccess;
  return (sub_buffer & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0 ||
         (allowed != 0 && wanted != 0 && wanted != allowed && wanted != CL_MEM_HOST_NO_ACCESS);
}

}  // namespace

cl_int check_flags(cl_mem_flags flags) {
  constexpr cl_mem_flags kKnown = kAccessFlags | kHostAccess | kHostPointer;
  if ((flags & ~kKnown) != 0 || !at_most_one(flags & kAccessFlags) || !at_most_one(flags & kHostAccess)) {
    return CL_INVALID_VALUE;
  }
  return (flags & CL_MEM_USE_HOST_PTR) != 0 && (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0
             ? CL_INVALID_VALUE
             : CL_SUCCESS;
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
  const cl_buffer_region region = *static_cast<const cl_buffer_region*>(create_info);
  if (conflicts(of.flags, flags)) {
    const auto make = [&](auto& b, wire::Trial trial) {
      return wire::CreateCreateSubBuffer(b, of.connection->new_id(), of.id, flags, region.origin, region.size,
                                         trial);
    };
    const cl_int judged = judged_by_driver(*of.connection, CL_INVALID_VALUE, false, false, make);
    return fail<cl_mem>(error_ret, judged != CL_SUCCESS ? judged : CL_INVALID_VALUE);
  }
  NewObject<MemoryState> made(*parent, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = of.context;
  made->parent = parent;
  made->size = region.size;
  made->origin = region.origin;
  made->flags = flags | ((flags & kAccessFlags) == 0 ? of.flags & kAccessFlags : 0) |
                ((flags & kHostAccess) == 0 ? of.flags & kHostAccess : 0) | (of.flags & kHostPointer);
  if (of.host != nullptr) made->host = static_cast<std::byte*>(of.host) + region.origin;
  made->svm = of.svm;
  return made.create(error_ret, [&](auto& b) {
    return wire::CreateCreateSubBuffer(b, made->id, of.id, flags, region.origin, region.size);
  });
}

cl_mem CL_API_CALL clCreatePipe(cl_context handle, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                                const cl_pipe_properties* properties, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_CONTEXT);
  if (properties != nullptr) return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  const ContextState& of = state_of<ContextState>(*context);
  NewObject<MemoryState> made(*context, *of.connection, of.connection->new_id());
  if (!made) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = context;
  made->type = CL_MEM_OBJECT_PIPE;
  made->packet_size = packet_size;
  made->packets = packets;
  return made.create(error_ret, [&](auto& b) {
    return wire::CreateCreatePipe(b, made->id, of.id, flags, packet_size, packets);
  });
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem handle, cl_pipe_info name, size_t size, void* value,
                                 size_t* size_ret) {
  const MemoryState* const state = find_state(handle);
  if (state == nullptr || state->type != CL_MEM_OBJECT_PIPE) return CL_INVALID_MEM_OBJECT;
  const InfoOutput output{size, value, size_ret};
  if (name == CL_PIPE_PACKET_SIZE) return output.write(state->packet_size);
  if (name == CL_PIPE_MAX_PACKETS) return output.write(state->packets);
  return query_into(*state->connection, {wire::InfoSubject::pipe, state->id, name}, output);
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret) {
  MemoryState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_MEM_OBJECT;
  const InfoOutput output{size, value, size_ret};
  if (state->type == CL_MEM_OBJECT_PIPE && (name == CL_MEM_FLAGS || name == CL_MEM_SIZE))
    return query_into(*state->connection, {wire::InfoSubject::memory, state->id, name}, output);
  switch (name) {
    case CL_MEM_TYPE:
      return output.write(state->type);
    case CL_MEM_FLAGS:
      return output.write(state->flags);
    case CL_MEM_SIZE:
      return output.write(state->size);
    case CL_MEM_HOST_PTR:
      return output.write(state->host);
    case CL_MEM_MAP_COUNT: {
      const base::MutexLock lock(state->mutex);
      return output.write(static_cast<cl_uint>(state->mappings.size()));
    }
    case CL_MEM_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_MEM_CONTEXT:
      return output.write(objects::handle_of<cl_context>(state->context));
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      return output.write(objects::handle_of<cl_mem>(state->parent));
    case CL_MEM_OFFSET:
      return output.write(state->type == CL_MEM_OBJECT_BUFFER ? state->origin : std::size_t{0});
    case CL_MEM_USES_SVM_POINTER:
      return output.write(static_cast<cl_bool>(state->svm ? CL_TRUE : CL_FALSE));
    case CL_MEM_PROPERTIES:
      return output.write_list(state->properties);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK* function)(cl_mem, void*),
                                                    void* user_data) {
  MemoryState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_MEM_OBJECT;
  if (function == nullptr) return CL_INVALID_VALUE;
  if (state->destructor_callbacks.add(function, user_data))
    state->connection->post({}, [&](auto& b) { return wire::CreateWatchDestruction(b, state->id); });
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client
