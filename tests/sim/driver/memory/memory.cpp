// Buffers and sub-buffers: creation, queries, destructor callbacks.
#include "tests/sim/driver/memory/memory.h"

#include <cstring>
#include <utility>

#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace {

constexpr cl_mem_flags device_access = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
constexpr cl_mem_flags host_access = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags host_pointer_use = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;
constexpr std::size_t sub_buffer_alignment = 128;  // CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes

bool at_most_one(cl_mem_flags flags) { return (flags & (flags - 1)) == 0; }

}  // namespace

namespace memory_functions {

cl_mem create_with_properties(CallFrame& frame, Context& context, const cl_mem_properties* properties,
                              cl_mem_flags flags, std::size_t size, void* host_pointer) {
  require(properties == nullptr || *properties == 0, CL_INVALID_PROPERTY);
  check_memory_flags(flags);
  require(size > 0 && size <= frame.state.options.memory_size / 4, CL_INVALID_BUFFER_SIZE);
  auto memory = make_memory(frame, context, flags, size, host_pointer);
  memory->properties = property_list(properties);
  return handle_of(memory);
}

cl_mem create(CallFrame& frame, Context& context, cl_mem_flags flags, std::size_t size, void* host_pointer) {
  return create_with_properties(frame, context, nullptr, flags, size, host_pointer);
}

// What a sub-buffer does not say about access it has from its parent.
cl_mem_flags inherited(cl_mem_flags flags, const Memory& parent) {
  if ((flags & device_access) == 0) flags |= parent.flags & device_access;
  if ((flags & host_access) == 0) flags |= parent.flags & host_access;
  return flags | (parent.flags & host_pointer_use);
}

cl_mem create_sub_buffer(CallFrame& frame, Memory& parent, cl_mem_flags flags, cl_buffer_create_type type,
                         const void* description) {
  require(!parent.is_image() && !parent.parent, CL_INVALID_MEM_OBJECT);
  check_memory_flags(flags);
  require((flags & host_pointer_use) == 0, CL_INVALID_VALUE);
  require(type == CL_BUFFER_CREATE_TYPE_REGION && description != nullptr, CL_INVALID_VALUE);
  cl_buffer_region region{};
  std::memcpy(&region, description, sizeof region);
  require(region.size > 0, CL_INVALID_BUFFER_SIZE);
  require(region.origin <= parent.size && region.size <= parent.size - region.origin, CL_INVALID_VALUE);
  require(region.origin % sub_buffer_alignment == 0, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  auto memory = frame.state.make<Memory>();
  memory->context = parent.context;
  memory->flags = inherited(flags, parent);
  memory->size = region.size;
  memory->origin = region.origin;
  memory->data = parent.data + region.origin;
  memory->parent = shared(parent);
  if (parent.host_pointer != nullptr) {
    memory->host_pointer = static_cast<std::byte*>(parent.host_pointer) + region.origin;
  }
  return handle_of(memory);
}

constexpr InfoRow<Memory> memory_rows[] = {
    {CL_MEM_TYPE, [](const Memory& memory) { return memory.type; }},
    {CL_MEM_FLAGS, [](const Memory& memory) { return memory.flags; }},
    {CL_MEM_SIZE, [](const Memory& memory) { return memory.size; }},
    {CL_MEM_HOST_PTR, [](const Memory& memory) { return memory.host_pointer; }},
    {CL_MEM_MAP_COUNT, [](const Memory& memory) { return static_cast<cl_uint>(memory.mappings.size()); }},
    {CL_MEM_REFERENCE_COUNT, [](const Memory& memory) { return memory.references(); }},
    {CL_MEM_CONTEXT, [](const Memory& memory) { return handle_of(memory.context); }},
    {CL_MEM_ASSOCIATED_MEMOBJECT, [](const Memory& memory) { return handle_of(memory.parent); }},
    {CL_MEM_OFFSET, [](const Memory& memory) { return memory.origin; }},
    {CL_MEM_USES_SVM_POINTER, [](const Memory&) { return false; }},
    {CL_MEM_PROPERTIES, [](const Memory& memory) { return memory.properties; }},
};

void set_destructor_callback(CallFrame& frame, cl_mem handle, void(CL_CALLBACK* notify)(cl_mem, void*),
                             void* user_data) {
  Memory& memory = frame.state.get(handle);
  require(notify != nullptr, CL_INVALID_VALUE);
  memory.on_destruction.emplace_back([=] { notify(handle, user_data); });
}

}  // namespace memory_functions

void check_memory_flags(cl_mem_flags flags) {
  constexpr cl_mem_flags known =
      device_access | host_access | host_pointer_use | CL_MEM_KERNEL_READ_AND_WRITE;
  require((flags & ~known) == 0, CL_INVALID_VALUE);
  require(at_most_one(flags & device_access) && at_most_one(flags & host_access), CL_INVALID_VALUE);
  const bool uses_host_memory = (flags & CL_MEM_USE_HOST_PTR) != 0;
  require(!uses_host_memory || (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)) == 0,
          CL_INVALID_VALUE);
}

std::shared_ptr<Memory> make_memory(CallFrame& frame, Context& context, cl_mem_flags flags, std::size_t size,
                                    void* host_pointer) {
  const bool wants_pointer = (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0;
  require(wants_pointer == (host_pointer != nullptr), CL_INVALID_HOST_PTR);
  std::vector<std::byte> storage;
  if ((flags & CL_MEM_USE_HOST_PTR) == 0) storage.resize(size);
  auto memory = frame.state.make<Memory>();
  memory->context = shared(context);
  memory->flags = (flags & device_access) == 0 ? flags | CL_MEM_READ_WRITE : flags;
  memory->size = size;
  memory->storage = std::move(storage);
  if ((flags & CL_MEM_USE_HOST_PTR) != 0) {
    memory->host_pointer = host_pointer;
    memory->data = static_cast<std::byte*>(host_pointer);
  } else {
    memory->data = memory->storage.data();
    if (host_pointer != nullptr) std::memcpy(memory->data, host_pointer, size);
  }
  return memory;
}

void require_buffer(const Queue& queue, const Memory& memory) {
  require(!memory.is_image(), CL_INVALID_MEM_OBJECT);
  require(memory.context == queue.context, CL_INVALID_CONTEXT);
}

void require_image(const Queue& queue, const Memory& memory) {
  require(memory.is_image(), CL_INVALID_MEM_OBJECT);
  require(memory.context == queue.context, CL_INVALID_CONTEXT);
}

void require_host_reads(const Memory& memory) {
  require((memory.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) == 0, CL_INVALID_OPERATION);
}

void require_host_writes(const Memory& memory) {
  require((memory.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)) == 0, CL_INVALID_OPERATION);
}

void memory_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clCreateBuffer, create);
  SIM_IMPLEMENT(clCreateBufferWithProperties, create_with_properties);
  SIM_IMPLEMENT(clCreateSubBuffer, create_sub_buffer);
  SIM_IMPLEMENT(clRetainMemObject, retain<Memory>);
  SIM_IMPLEMENT(clReleaseMemObject, release<Memory>);
  SIM_IMPLEMENT(clGetMemObjectInfo, answer_from<Memory, memory_rows>);
  SIM_IMPLEMENT(clSetMemObjectDestructorCallback, set_destructor_callback);
}

}  // namespace cleave::sim
