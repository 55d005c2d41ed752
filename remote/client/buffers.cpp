// Buffers, sub-buffers and pipes, and what is common to all memory objects.
#include <algorithm>

#include <sys/mman.h>

#include "remote/client/api.h"
#include "remote/client/info.h"
#include "remote/client/memory.h"
#include "remote/client/queries.h"
#include "remote/client/state.h"

namespace cleave::remote::client {
namespace {

// A buffer up to this size is made without an answer: that it cannot be made is not to be expected.
constexpr std::size_t kSurelyFits = std::size_t{1} << 20U;

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
  const ContextBody& of = body_of<ContextBody>(*context);
  if (size == 0) return fail<cl_mem>(error_ret, CL_INVALID_BUFFER_SIZE);
  const bool with_host = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
  if (with_host != (host != nullptr)) return fail<cl_mem>(error_ret, CL_INVALID_HOST_PTR);
  const bool leads_out = (flags & CL_MEM_USE_HOST_PTR) != 0 && client.svm.find(host, 1) &&
                         !client.svm.holds(host, size, *of.connection);
  if (size > of.max_allocation || leads_out) return fail<cl_mem>(error_ret, CL_INVALID_BUFFER_SIZE);
  const auto both = prepare<MemoryBody>(*context, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->context = context;
  body->flags = (flags & kAccess) == 0 ? flags | CL_MEM_READ_WRITE : flags;
  body->size = size;
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) body->host = host;
  body->svm = body->host != nullptr && client.svm.holds(host, size, *of.connection);
  body->properties = list_of(properties);
  std::vector<std::uint64_t> sent(body->properties.begin(), body->properties.end());
  if (!sent.empty()) sent.pop_back();
  const Box data = with_host && !body->svm ? Box::line(host, size) : Box{};
  const std::uint64_t address = body->svm ? reinterpret_cast<std::uintptr_t>(host) : 0;
  const auto make = [&](auto& b) {
    flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>> list;
    if (!sent.empty()) list = b.CreateVector(sent);
    return wire::CreateCreateBuffer(b, body->id, of.id, flags & kSent, size, list, address);
  };
  cl_int error = CL_SUCCESS;
  if (size <= kSurelyFits && sent.empty()) {
    error = of.connection->post_data({}, data, make);
  } else {
    Pending pending;
    error = of.connection->ask({}, pending, make, data);
  }
  return finish_memory(object, body, error, error_ret);
}

// What only the driver knows: how large it has made a pipe, and what flags it has given it.
cl_int ask_driver(const MemoryBody& body, wire::What what, cl_uint name, const Answer& answer) {
  std::vector<std::byte> bytes;
  const cl_int error = ask_server(*body.connection, what, body.id, 0, name, 0, {}, nullptr, bytes);
  return error != CL_SUCCESS ? error : answer.give_list(bytes);
}

// Whether a part's flags would allow the host what the whole buffer's do not, or name memory of its own. The
// server does not know of either.
bool contradicts(cl_mem_flags whole, cl_mem_flags part) {
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

std::vector<cl_mem_properties> list_of(const cl_mem_properties* properties) {
  std::vector<cl_mem_properties> list;
  if (properties == nullptr) return list;
  for (; *properties != 0; properties += 2) list.insert(list.end(), properties, properties + 2);
  list.push_back(0);
  return list;
}

cl_mem finish_memory(Object* object, MemoryBody* body, cl_int error, cl_int* error_ret) {
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_mem>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_mem>(&client.objects.publish(*object, static_cast<Body*>(body)));
}

MemoryBody::~MemoryBody() {
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
  const MemoryBody& of = body_of<MemoryBody>(*parent);
  if (of.type != CL_MEM_OBJECT_BUFFER || of.parent != nullptr)
    return fail<cl_mem>(error_ret, CL_INVALID_MEM_OBJECT);
  if (type != CL_BUFFER_CREATE_TYPE_REGION || create_info == nullptr)
    return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  if (contradicts(of.flags, flags)) return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  const cl_buffer_region region = *static_cast<const cl_buffer_region*>(create_info);
  const auto both = prepare<MemoryBody>(*parent, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->context = of.context;
  body->parent = parent;
  body->size = region.size;
  body->origin = region.origin;
  body->flags = flags | ((flags & kAccess) == 0 ? of.flags & kAccess : 0) |
                ((flags & kHostAccess) == 0 ? of.flags & kHostAccess : 0) | (of.flags & kHostPointer);
  if (of.host != nullptr) body->host = static_cast<std::byte*>(of.host) + region.origin;
  body->svm = of.svm;
  Pending pending;
  const cl_int error = of.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateCreateSubBuffer(b, body->id, of.id, flags, region.origin, region.size);
  });
  return finish_memory(object, body, error, error_ret);
}

cl_mem CL_API_CALL clCreatePipe(cl_context handle, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                                const cl_pipe_properties* properties, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_mem>(error_ret, CL_INVALID_CONTEXT);
  if (properties != nullptr) return fail<cl_mem>(error_ret, CL_INVALID_VALUE);
  const ContextBody& of = body_of<ContextBody>(*context);
  const auto both = prepare<MemoryBody>(*context, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_mem>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->context = context;
  body->type = CL_MEM_OBJECT_PIPE;
  body->packet_size = packet_size;
  body->packets = packets;
  Pending pending;
  const cl_int error = of.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateCreatePipe(b, body->id, of.id, flags, packet_size, packets);
  });
  return finish_memory(object, body, error, error_ret);
}

cl_int CL_API_CALL clGetPipeInfo(cl_mem handle, cl_pipe_info name, size_t size, void* value,
                                 size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr || body_of<MemoryBody>(*object).type != CL_MEM_OBJECT_PIPE)
    return CL_INVALID_MEM_OBJECT;
  const MemoryBody& body = body_of<MemoryBody>(*object);
  const Answer answer{size, value, size_ret};
  if (name == CL_PIPE_PACKET_SIZE) return answer.give(body.packet_size);
  if (name == CL_PIPE_MAX_PACKETS) return answer.give(body.packets);
  return ask_driver(body, wire::What::pipe, name, answer);
}

cl_int CL_API_CALL clGetMemObjectInfo(cl_mem handle, cl_mem_info name, size_t size, void* value,
                                      size_t* size_ret) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_MEM_OBJECT;
  MemoryBody& body = body_of<MemoryBody>(*object);
  const Answer answer{size, value, size_ret};
  if (body.type == CL_MEM_OBJECT_PIPE && (name == CL_MEM_FLAGS || name == CL_MEM_SIZE))
    return ask_driver(body, wire::What::memory, name, answer);
  switch (name) {
    case CL_MEM_TYPE:
      return answer.give(body.type);
    case CL_MEM_FLAGS:
      return answer.give(body.flags);
    case CL_MEM_SIZE:
      return answer.give(body.size);
    case CL_MEM_HOST_PTR:
      return answer.give(body.host);
    case CL_MEM_MAP_COUNT: {
      const std::scoped_lock lock(body.mutex);
      return answer.give(static_cast<cl_uint>(body.mappings.size()));
    }
    case CL_MEM_REFERENCE_COUNT:
      return answer.give(references(*object));
    case CL_MEM_CONTEXT:
      return answer.give(objects::handle_of<cl_context>(body.context));
    case CL_MEM_ASSOCIATED_MEMOBJECT:
      return answer.give(objects::handle_of<cl_mem>(body.parent));
    case CL_MEM_OFFSET:
      return answer.give(body.type == CL_MEM_OBJECT_BUFFER ? body.origin : std::size_t{0});
    case CL_MEM_USES_SVM_POINTER:
      return answer.give(static_cast<cl_bool>(body.svm ? CL_TRUE : CL_FALSE));
    case CL_MEM_PROPERTIES:
      return answer.give_list(body.properties);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clSetMemObjectDestructorCallback(cl_mem handle, void(CL_CALLBACK* function)(cl_mem, void*),
                                                    void* user_data) {
  Object* const object = find(handle);
  if (object == nullptr) return CL_INVALID_MEM_OBJECT;
  if (function == nullptr) return CL_INVALID_VALUE;
  MemoryBody& body = body_of<MemoryBody>(*object);
  const std::scoped_lock lock(body.at_end.mutex);
  if (body.at_end.calls.empty()) {
    body.connection->post({}, [&](auto& b) { return wire::CreateWatchDestruction(b, body.id); });
  }
  body.at_end.calls.push_back({function, user_data});
  return CL_SUCCESS;
}

}  // namespace cleave::remote::client
