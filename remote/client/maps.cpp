// Maps: memory of the program that stands for a memory object's. Mapping reads it from the server, unmapping
// writes it back if it was mapped for writing.
//
// The memory is the program's own with CL_MEM_USE_HOST_PTR, else a shadow of the whole object, of which only
// what is mapped is ever touched. A buffer's parts share its shadow.
#include <algorithm>

#include <sys/mman.h>

#include "remote/client/api.h"
#include "remote/client/command.h"
#include "remote/client/info.h"
#include "remote/client/memory.h"
#include "remote/client/regions.h"
#include "remote/client/wire_types.h"

namespace cleave::remote::client {
namespace {

constexpr cl_map_flags kWrites = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
constexpr cl_map_flags kKnown = CL_MAP_READ | kWrites;
// A larger shadow gives its memory back when nothing is mapped.
constexpr std::size_t kWorthKeeping = std::size_t{1} << 20U;

MemoryBody& root_of(MemoryBody& body) {
  return body.type == CL_MEM_OBJECT_BUFFER && body.parent != nullptr ? body_of<MemoryBody>(*body.parent)
                                                                     : body;
}

std::size_t shadow_size(const MemoryBody& body) {
  if (!is_image(body)) return body.size;
  const auto [width, rows, slices] = extent_of(body);
  const bool lines = body.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const std::size_t pitch = lines ? body.slice_pitch : body.row_pitch;
  return slices == 1 ? rows * pitch : slices * body.slice_pitch;
}

// Where the object begins in the program's memory, which is in use from here on until leave_place(); null if
// there is none.
struct Beginning {
  std::byte* pointer;
  MemoryBody* home;
};

Beginning take_place(MemoryBody& body) {
  if (body.host != nullptr) return {static_cast<std::byte*>(body.host), nullptr};
  MemoryBody& root = root_of(body);
  const std::scoped_lock lock(root.mutex);
  std::byte* const shadow = shadow_of(root, shadow_size(root));
  if (shadow == nullptr) return {nullptr, nullptr};
  ++root.shadow_users;
  return {shadow + (&root == &body ? 0 : body.origin), &root};
}

cl_int check(const MemoryBody& body, cl_map_flags flags) {
  if ((flags & ~kKnown) != 0 ||
      ((flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0 && (flags & (CL_MAP_READ | CL_MAP_WRITE)) != 0))
    return CL_INVALID_VALUE;
  if ((flags & CL_MAP_READ) != 0 && (body.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0)
    return CL_INVALID_OPERATION;
  if ((flags & kWrites) != 0 && (body.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0)
    return CL_INVALID_OPERATION;
  return CL_SUCCESS;
}

// A command that does nothing but take its place. On a queue out of order a marker would wait for all the
// others.
cl_int send_nothing(Command& command, const MemoryBody& body, bool blocking) {
  const bool in_order = (command.queue().properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  const auto marker = [](auto& b) { return wire::CreateMarker(b, false); };
  const auto migrate = [&](auto& b) {
    return wire::CreateMigrate(b, b.CreateVector(std::vector<Id>{body.id}), 0);
  };
  if (in_order) return blocking ? command.send_blocking(marker) : command.send(marker);
  return blocking ? command.send_blocking(migrate) : command.send(migrate);
}

template <typename Make>
void* map(Command& command, MemoryBody& body, bool blocking, const Mapping& mapping, const Box& box,
          Make make, cl_int* error_ret) {
  {
    const std::scoped_lock lock(body.mutex);
    body.mappings.push_back(mapping);
  }
  const bool invalidates = (mapping.flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  const cl_int error =
      invalidates ? send_nothing(command, body, blocking) : command.send_read(blocking, box, make);
  if (error_ret != nullptr) *error_ret = error;
  if (error == CL_SUCCESS) return mapping.pointer;
  forget_mapping(body, mapping.pointer);
  return nullptr;
}

Box box_of(const MemoryBody& body, const Mapping& mapping) {
  if (!is_image(body)) return Box::line(mapping.pointer, mapping.region[0]);
  const bool lines = body.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  return {static_cast<std::byte*>(mapping.pointer),
          mapping.region[0] * body.pixel,
          mapping.region[1],
          mapping.region[2],
          lines ? body.slice_pitch : body.row_pitch,
          body.slice_pitch};
}

cl_int unmap(Command& command, MemoryBody& body, const Mapping& mapping) {
  if ((mapping.flags & kWrites) == 0) return send_nothing(command, body, false);
  const Box box = box_of(body, mapping);
  if (!is_image(body)) {
    return command.send(
        [&](auto& b) { return wire::CreateWriteBuffer(b, body.id, mapping.origin[0], mapping.region[0]); },
        box);
  }
  return command.send(
      [&](auto& b) {
        const wire::Size3 at = size3(mapping.origin.data());
        const wire::Size3 extent = size3(mapping.region.data());
        return wire::CreateWriteImage(b, body.id, &at, &extent);
      },
      box);
}

}  // namespace

std::byte* shadow_of(MemoryBody& body, std::size_t size) {
  if (body.shadow != nullptr) return body.shadow;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  body.shadow_size = size;
  return body.shadow = static_cast<std::byte*>(memory);
}

std::optional<Mapping> take_mapping(MemoryBody& body, const void* pointer) {
  const std::scoped_lock lock(body.mutex);
  const auto found = std::find_if(body.mappings.begin(), body.mappings.end(),
                                  [&](const Mapping& one) { return one.pointer == pointer; });
  if (found == body.mappings.end()) return {};
  const Mapping mapping = *found;
  body.mappings.erase(found);
  return mapping;
}

void leave_place(const Mapping& mapping) {
  if (mapping.home == nullptr) return;
  MemoryBody& home = *mapping.home;
  const std::scoped_lock lock(home.mutex);
  if (--home.shadow_users == 0 && home.shadow_size > kWorthKeeping)
    madvise(home.shadow, home.shadow_size, MADV_DONTNEED);
}

void forget_mapping(MemoryBody& body, const void* pointer) {
  std::optional<Mapping> forgotten;
  {
    const std::scoped_lock lock(body.mutex);
    const auto found = std::find_if(body.mappings.rbegin(), body.mappings.rend(),
                                    [&](const Mapping& one) { return one.pointer == pointer; });
    if (found == body.mappings.rend()) return;
    forgotten = *found;
    body.mappings.erase(std::next(found).base());
  }
  leave_place(*forgotten);
}

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                                     const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_MAP_BUFFER});
  if (command.error != CL_SUCCESS) return fail<void*>(error_ret, command.error);
  MemoryBody* const body = command.memory(buffer);
  if (body == nullptr) return fail<void*>(error_ret, command.error);
  if (body->type != CL_MEM_OBJECT_BUFFER) return fail<void*>(error_ret, CL_INVALID_MEM_OBJECT);
  if (const cl_int error = check(*body, flags); error != CL_SUCCESS) return fail<void*>(error_ret, error);
  if (size == 0 || offset > body->size || size > body->size - offset)
    return fail<void*>(error_ret, CL_INVALID_VALUE);
  const Beginning beginning = take_place(*body);
  if (beginning.pointer == nullptr) return fail<void*>(error_ret, CL_MAP_FAILURE);
  const Mapping mapping{
      beginning.pointer + offset, flags, {offset, 0, 0}, {size, 1, 1}, 0, 0, beginning.home};
  return map(
      command, *body, blocking != CL_FALSE, mapping, box_of(*body, mapping),
      [&](auto& b) { return wire::CreateReadBuffer(b, body->id, offset, size); }, error_ret);
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t* origin, const size_t* region,
                                    size_t* row_pitch, size_t* slice_pitch, cl_uint waits,
                                    const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_MAP_IMAGE});
  if (command.error != CL_SUCCESS) return fail<void*>(error_ret, command.error);
  MemoryBody* const body = command.memory(image);
  if (body == nullptr) return fail<void*>(error_ret, command.error);
  if (!is_image(*body)) return fail<void*>(error_ret, CL_INVALID_MEM_OBJECT);
  if (const cl_int error = check(*body, flags); error != CL_SUCCESS) return fail<void*>(error_ret, error);
  const bool flat = body->type == CL_MEM_OBJECT_IMAGE2D || body->type == CL_MEM_OBJECT_IMAGE1D ||
                    body->type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
  if (row_pitch == nullptr || (slice_pitch == nullptr && !flat) || !is_within(*body, origin, region))
    return fail<void*>(error_ret, CL_INVALID_VALUE);
  const Beginning beginning = take_place(*body);
  if (beginning.pointer == nullptr) return fail<void*>(error_ret, CL_MAP_FAILURE);
  const bool lines = body->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  std::byte* const pointer = beginning.pointer + origin[0] * body->pixel +
                             origin[1] * (lines ? body->slice_pitch : body->row_pitch) +
                             origin[2] * body->slice_pitch;
  *row_pitch = body->row_pitch;
  if (slice_pitch != nullptr) *slice_pitch = flat ? 0 : body->slice_pitch;
  const Mapping mapping{pointer,
                        flags,
                        {origin[0], origin[1], origin[2]},
                        {region[0], region[1], region[2]},
                        body->row_pitch,
                        body->slice_pitch,
                        beginning.home};
  return map(
      command, *body, blocking != CL_FALSE, mapping, box_of(*body, mapping),
      [&](auto& b) {
        const wire::Size3 at = size3(origin);
        const wire::Size3 extent = size3(region);
        return wire::CreateReadImage(b, body->id, &at, &extent);
      },
      error_ret);
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* pointer,
                                           cl_uint waits, const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_UNMAP_MEM_OBJECT});
  if (command.error != CL_SUCCESS) return command.error;
  MemoryBody* const body = command.memory(memory);
  if (body == nullptr) return command.error;
  const auto mapping = pointer == nullptr ? std::nullopt : take_mapping(*body, pointer);
  if (!mapping) return CL_INVALID_VALUE;
  const cl_int error = unmap(command, *body, *mapping);
  leave_place(*mapping);
  return error;
}

}  // namespace cleave::remote::client
