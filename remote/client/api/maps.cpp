// Maps: memory of the program that stands for a memory object's. Mapping reads it from the server, unmapping
// writes it back if it was mapped for writing.
//
// The memory is the program's own with CL_MEM_USE_HOST_PTR, else a shadow of the whole object, of which only
// what is mapped is ever touched. A buffer's parts share its shadow.
#include <algorithm>

#include <sys/mman.h>

#include "remote/client/api/api.h"
#include "remote/client/api/command.h"
#include "remote/client/api/memory.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/wire_types.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

constexpr cl_map_flags kWrites = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
constexpr cl_map_flags kKnown = CL_MAP_READ | kWrites;
// A larger shadow gives its memory back when nothing is mapped.
constexpr std::size_t kWorthKeeping = std::size_t{1} << 20U;

MemoryState& root_of(MemoryState& state) {
  return state.type == CL_MEM_OBJECT_BUFFER && state.parent != nullptr ? state_of<MemoryState>(*state.parent)
                                                                       : state;
}

std::size_t shadow_size(const MemoryState& state) {
  if (!is_image(state)) return state.size;
  const auto [width, rows, slices] = extent_of(state);
  const bool lines = state.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  const std::size_t pitch = lines ? state.slice_pitch : state.row_pitch;
  return slices == 1 ? rows * pitch : slices * state.slice_pitch;
}

// Where the object begins in the program's memory, which is in use from here on until release_mapping(); null if
// there is none.
struct MapBase {
  std::byte* pointer;
  MemoryState* shadow_owner;
};

MapBase acquire_map_memory(MemoryState& state) {
  if (state.host != nullptr) return {static_cast<std::byte*>(state.host), nullptr};
  MemoryState& root = root_of(state);
  const std::scoped_lock lock(root.mutex);
  std::byte* const shadow = shadow_memory(root, shadow_size(root));
  if (shadow == nullptr) return {nullptr, nullptr};
  ++root.shadow_users;
  return {shadow + (&root == &state ? 0 : state.origin), &root};
}

cl_int check(const MemoryState& state, cl_map_flags flags) {
  if ((flags & ~kKnown) != 0 ||
      ((flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0 && (flags & (CL_MAP_READ | CL_MAP_WRITE)) != 0))
    return CL_INVALID_VALUE;
  if ((flags & CL_MAP_READ) != 0 && (state.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0)
    return CL_INVALID_OPERATION;
  if ((flags & kWrites) != 0 && (state.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0)
    return CL_INVALID_OPERATION;
  return CL_SUCCESS;
}

// A command that does nothing but take its place. On a queue out of order a marker would wait for all the
// others.
cl_int send_placeholder(Command& command, const MemoryState& state, bool blocking) {
  const bool in_order = (command.queue().properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  const auto marker = [](auto& b) { return wire::CreateMarker(b, false); };
  const auto migrate = [&](auto& b) {
    return wire::CreateMigrate(b, b.CreateVector(std::vector<Id>{state.id}), 0);
  };
  if (in_order) return blocking ? command.send_blocking(marker) : command.send(marker);
  return blocking ? command.send_blocking(migrate) : command.send(migrate);
}

template <typename Make>
void* map(Command& command, MemoryState& state, bool blocking, const Mapping& mapping, const Box& box,
          Make make, cl_int* error_ret) {
  {
    const std::scoped_lock lock(state.mutex);
    state.mappings.push_back(mapping);
  }
  const bool invalidates = (mapping.flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  const cl_int error =
      invalidates ? send_placeholder(command, state, blocking) : command.send_read(blocking, box, make);
  if (error_ret != nullptr) *error_ret = error;
  if (error == CL_SUCCESS) return mapping.pointer;
  cancel_mapping(state, mapping.pointer);
  return nullptr;
}

Box box_of(const MemoryState& state, const Mapping& mapping) {
  if (!is_image(state)) return Box::contiguous(mapping.pointer, mapping.region[0]);
  const bool lines = state.type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  return {static_cast<std::byte*>(mapping.pointer),
          mapping.region[0] * state.pixel_bytes,
          mapping.region[1],
          mapping.region[2],
          lines ? state.slice_pitch : state.row_pitch,
          state.slice_pitch};
}

cl_int unmap(Command& command, MemoryState& state, const Mapping& mapping) {
  if ((mapping.flags & kWrites) == 0) return send_placeholder(command, state, false);
  const Box box = box_of(state, mapping);
  if (!is_image(state)) {
    return command.send(
        [&](auto& b) { return wire::CreateWriteBuffer(b, state.id, mapping.origin[0], mapping.region[0]); },
        box);
  }
  return command.send(
      [&](auto& b) {
        const wire::Size3 at = size3(mapping.origin.data());
        const wire::Size3 extent = size3(mapping.region.data());
        return wire::CreateWriteImage(b, state.id, &at, &extent);
      },
      box);
}

}  // namespace

std::byte* shadow_memory(MemoryState& state, std::size_t size) {
  if (state.shadow != nullptr) return state.shadow;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  state.shadow_size = size;
  return state.shadow = static_cast<std::byte*>(memory);
}

std::optional<Mapping> remove_mapping(MemoryState& state, const void* pointer) {
  const std::scoped_lock lock(state.mutex);
  const auto found = std::find_if(state.mappings.begin(), state.mappings.end(),
                                  [&](const Mapping& one) { return one.pointer == pointer; });
  if (found == state.mappings.end()) return {};
  const Mapping mapping = *found;
  state.mappings.erase(found);
  return mapping;
}

void release_mapping(const Mapping& mapping) {
  if (mapping.shadow_owner == nullptr) return;
  MemoryState& shadow_owner = *mapping.shadow_owner;
  const std::scoped_lock lock(shadow_owner.mutex);
  if (--shadow_owner.shadow_users == 0 && shadow_owner.shadow_size > kWorthKeeping)
    madvise(shadow_owner.shadow, shadow_owner.shadow_size, MADV_DONTNEED);
}

void cancel_mapping(MemoryState& state, const void* pointer) {
  std::optional<Mapping> forgotten;
  {
    const std::scoped_lock lock(state.mutex);
    const auto found = std::find_if(state.mappings.rbegin(), state.mappings.rend(),
                                    [&](const Mapping& one) { return one.pointer == pointer; });
    if (found == state.mappings.rend()) return;
    forgotten = *found;
    state.mappings.erase(std::next(found).base());
  }
  release_mapping(*forgotten);
}

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t size, cl_uint wait_count,
                                     const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_MAP_BUFFER});
  if (command.error != CL_SUCCESS) return fail<void*>(error_ret, command.error);
  MemoryState* const state = command.memory(buffer);
  if (state == nullptr) return fail<void*>(error_ret, command.error);
  if (state->type != CL_MEM_OBJECT_BUFFER) return fail<void*>(error_ret, CL_INVALID_MEM_OBJECT);
  if (const cl_int error = check(*state, flags); error != CL_SUCCESS) return fail<void*>(error_ret, error);
  if (size == 0 || offset > state->size || size > state->size - offset)
    return fail<void*>(error_ret, CL_INVALID_VALUE);
  const MapBase base = acquire_map_memory(*state);
  if (base.pointer == nullptr) return fail<void*>(error_ret, CL_MAP_FAILURE);
  const Mapping mapping{base.pointer + offset, flags, {offset, 0, 0}, {size, 1, 1}, 0, 0, base.shadow_owner};
  return map(
      command, *state, blocking != CL_FALSE, mapping, box_of(*state, mapping),
      [&](auto& b) { return wire::CreateReadBuffer(b, state->id, offset, size); }, error_ret);
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t* origin, const size_t* region,
                                    size_t* row_pitch, size_t* slice_pitch, cl_uint wait_count,
                                    const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_MAP_IMAGE});
  if (command.error != CL_SUCCESS) return fail<void*>(error_ret, command.error);
  MemoryState* const state = command.memory(image);
  if (state == nullptr) return fail<void*>(error_ret, command.error);
  if (!is_image(*state)) return fail<void*>(error_ret, CL_INVALID_MEM_OBJECT);
  if (const cl_int error = check(*state, flags); error != CL_SUCCESS) return fail<void*>(error_ret, error);
  const bool flat = state->type == CL_MEM_OBJECT_IMAGE2D || state->type == CL_MEM_OBJECT_IMAGE1D ||
                    state->type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
  if (row_pitch == nullptr || (slice_pitch == nullptr && !flat) || !is_within(*state, origin, region))
    return fail<void*>(error_ret, CL_INVALID_VALUE);
  const MapBase base = acquire_map_memory(*state);
  if (base.pointer == nullptr) return fail<void*>(error_ret, CL_MAP_FAILURE);
  const bool lines = state->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  std::byte* const pointer = base.pointer + origin[0] * state->pixel_bytes +
                             origin[1] * (lines ? state->slice_pitch : state->row_pitch) +
                             origin[2] * state->slice_pitch;
  *row_pitch = state->row_pitch;
  if (slice_pitch != nullptr) *slice_pitch = flat ? 0 : state->slice_pitch;
  const Mapping mapping{pointer,
                        flags,
                        {origin[0], origin[1], origin[2]},
                        {region[0], region[1], region[2]},
                        state->row_pitch,
                        state->slice_pitch,
                        base.shadow_owner};
  return map(
      command, *state, blocking != CL_FALSE, mapping, box_of(*state, mapping),
      [&](auto& b) {
        const wire::Size3 at = size3(origin);
        const wire::Size3 extent = size3(region);
        return wire::CreateReadImage(b, state->id, &at, &extent);
      },
      error_ret);
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* pointer,
                                           cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_UNMAP_MEM_OBJECT});
  if (command.error != CL_SUCCESS) return command.error;
  MemoryState* const state = command.memory(memory);
  if (state == nullptr) return command.error;
  const auto mapping = pointer == nullptr ? std::nullopt : remove_mapping(*state, pointer);
  if (!mapping) return CL_INVALID_VALUE;
  const cl_int error = unmap(command, *state, *mapping);
  release_mapping(*mapping);
  return error;
}

}  // namespace cleave::remote::client
