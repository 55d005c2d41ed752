// Mapping and unmapping. Mapping reads the region from the server, unmapping writes it back if it was mapped for writing.
//
// The mapped memory is the program's own with CL_MEM_USE_HOST_PTR, otherwise a shadow of the whole object, of which only
// mapped parts are ever touched. Sub-buffers share their buffer's shadow. The shadow of a large buffer is memory that is shared with
// the server, where there is some (link/map_regions.h): then no bytes are copied here.
#include <algorithm>

#include <sys/mman.h>

#include "remote/client/api/api.h"
#include "remote/client/api/command.h"
#include "remote/client/api/memory.h"
#include "remote/client/api/memory_transfer.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/map_regions.h"
#include "remote/client/link/wire_types.h"
#include "remote/client/objects/info_output.h"

namespace cleave::remote::client {
namespace {

constexpr cl_map_flags kWriteFlags = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
constexpr cl_map_flags kKnownFlags = CL_MAP_READ | kWriteFlags;
// Larger shadows give their memory back when nothing is mapped.
constexpr std::size_t kMaxKeptShadow = std::size_t{1} << 20U;

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

// Where an object begins in the program's memory. Null: no memory. In use until release_mapping().
struct MapBase {
  std::byte* pointer;
  MemoryState* shadow_owner;
  std::shared_ptr<const MapRegion> region;
};

void drop_own_shadow(MemoryState& state) CLEAVE_REQUIRES(state.mutex) {
  if (state.shadow != nullptr && state.shadow_region == nullptr) munmap(state.shadow, state.shadow_size);
  state.shadow = nullptr;
}

// Memory for maps of the whole object, at least `size` bytes. Null: no memory.
std::byte* shadow_memory(MemoryState& state, std::size_t size) CLEAVE_REQUIRES(state.mutex) {
  if (state.shadow != nullptr) return state.shadow;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  state.shadow_size = size;
  return state.shadow = static_cast<std::byte*>(memory);
}

// For a map of that many bytes. Null: there is none, or it would not pay: a region is as large as the whole buffer.
std::shared_ptr<MapRegion> take_region(MemoryState& root, std::size_t bytes) {
  if (is_image(root) || bytes < root.size / 4) return nullptr;
  {
    const base::MutexLock lock(root.mutex);
    if (root.shadow_users != 0) return nullptr;
  }
  return root.connection->take_region(root.size);
}

MapBase acquire_map_memory(MemoryState& state, std::size_t bytes) {
  if (state.host != nullptr) return {static_cast<std::byte*>(state.host), nullptr, nullptr};
  MemoryState& root = root_of(state);
  const std::shared_ptr<MapRegion> region = take_region(root, bytes);
  const base::MutexLock lock(root.mutex);
  if (region != nullptr && root.shadow_users == 0) {
    drop_own_shadow(root);
    root.shadow_region = region;
    root.shadow = region->data();
  }
  std::byte* const shadow = shadow_memory(root, shadow_size(root));
  if (shadow == nullptr) return {nullptr, nullptr, nullptr};
  ++root.shadow_users;
  return {shadow + (&root == &state ? 0 : state.origin), &root, root.shadow_region};
}

cl_int check(const MemoryState& state, cl_map_flags flags) {
  if ((flags & ~kKnownFlags) != 0 ||
      ((flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0 && (flags & (CL_MAP_READ | CL_MAP_WRITE)) != 0))
    return CL_INVALID_VALUE;
  if ((flags & CL_MAP_READ) != 0 && (state.flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0)
    return CL_INVALID_OPERATION;
  if ((flags & kWriteFlags) != 0 && (state.flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)) != 0)
    return CL_INVALID_OPERATION;
  return CL_SUCCESS;
}

// A command that only takes its place in the queue. A marker would not do on an out-of-order queue, where it waits for all
// earlier commands.
cl_int send_placeholder(Command& command, const MemoryState& state, bool blocking) {
  const auto marker = [](auto& b) { return wire::CreateMarker(b, false); };
  const auto migrate = [&](auto& b) {
    return wire::CreateMigrate(b, b.CreateVector(std::vector<Id>{state.id}), 0);
  };
  if (command.is_in_order()) return blocking ? command.send_blocking(marker) : command.send(marker);
  return blocking ? command.send_blocking(migrate) : command.send(migrate);
}

Box box_of(const MemoryState& state, const Mapping& mapping) {
  if (!is_image(state)) return Box::contiguous(mapping.pointer, mapping.region[0]);
  const ImageRegion region{nullptr, mapping.region.data(), state.row_pitch, state.slice_pitch};
  return region.box(state, mapping.pointer);
}

// Where the server itself finds the memory of a map. Null: nowhere.
std::shared_ptr<const MapRegion> region_of(const Command& command, const Mapping& mapping) {
  // A map of a context over several servers may end on another server's queue.
  return mapping.shared_region != nullptr && mapping.shadow_owner->connection == &command.connection()
             ? mapping.shared_region
             : nullptr;
}

// What is mapped lives until it is unmapped, also if the program releases it before.
void* map(Command& command, Object& object, bool blocking, const Mapping& mapping, cl_int* error_ret) {
  MemoryState& state = state_of<MemoryState>(object);
  {
    const base::MutexLock lock(state.mutex);
    state.mappings.push_back(mapping);
  }
  const bool invalidates = (mapping.flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  const cl_int error =
      invalidates
          ? send_placeholder(command, state, blocking)
          : with_read(state, mapping.origin.data(), mapping.region.data(), [&](auto make) {
              return command.send_read(blocking, box_of(state, mapping), make, region_of(command, mapping));
            });
  if (error_ret != nullptr) *error_ret = error;
  if (error == CL_SUCCESS) {
    client.objects.hold(object);
    return mapping.pointer;
  }
  cancel_mapping(state, mapping.pointer);
  return nullptr;
}

cl_int unmap(Command& command, MemoryState& state, const Mapping& mapping) {
  if ((mapping.flags & kWriteFlags) == 0) return send_placeholder(command, state, false);
  return with_write(state, mapping.origin.data(), mapping.region.data(), [&](auto make) {
    return command.send(make, box_of(state, mapping), region_of(command, mapping));
  });
}

}  // namespace

// No other reference to the object exists any more.
MemoryState::~MemoryState() CLEAVE_NO_THREAD_SAFETY_ANALYSIS { drop_own_shadow(*this); }

std::optional<Mapping> remove_mapping(MemoryState& state, const void* pointer) {
  const base::MutexLock lock(state.mutex);
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
  const base::MutexLock lock(shadow_owner.mutex);
  if (--shadow_owner.shadow_users != 0) return;
  if (shadow_owner.shadow_region != nullptr) {
    shadow_owner.shadow = nullptr;
    shadow_owner.shadow_region.reset();
  } else if (shadow_owner.shadow_size > kMaxKeptShadow) {
    madvise(shadow_owner.shadow, shadow_owner.shadow_size, MADV_DONTNEED);
  }
}

void cancel_mapping(MemoryState& state, const void* pointer) {
  std::optional<Mapping> forgotten;
  {
    const base::MutexLock lock(state.mutex);
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
  MemoryState* const state = command.memory(buffer);
  if (state == nullptr) return fail<void*>(error_ret, command.error);
  if (state->type != CL_MEM_OBJECT_BUFFER) return fail<void*>(error_ret, CL_INVALID_MEM_OBJECT);
  if (const cl_int error = check(*state, flags); error != CL_SUCCESS) return fail<void*>(error_ret, error);
  if (size == 0 || offset > state->size || size > state->size - offset)
    return fail<void*>(error_ret, CL_INVALID_VALUE);
  const MapBase base = acquire_map_memory(*state, size);
  if (base.pointer == nullptr) return fail<void*>(error_ret, CL_MAP_FAILURE);
  const Mapping mapping{base.pointer + offset, flags,      {offset, 0, 0}, {size, 1, 1},
                        base.shadow_owner,     base.region};
  return map(command, object_of(buffer), blocking != CL_FALSE, mapping, error_ret);
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t* origin, const size_t* region,
                                    size_t* row_pitch, size_t* slice_pitch, cl_uint wait_count,
                                    const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_MAP_IMAGE});
  MemoryState* const state = command.memory(image);
  if (state == nullptr) return fail<void*>(error_ret, command.error);
  if (!is_image(*state)) return fail<void*>(error_ret, CL_INVALID_MEM_OBJECT);
  if (const cl_int error = check(*state, flags); error != CL_SUCCESS) return fail<void*>(error_ret, error);
  const bool flat = state->type == CL_MEM_OBJECT_IMAGE2D || state->type == CL_MEM_OBJECT_IMAGE1D ||
                    state->type == CL_MEM_OBJECT_IMAGE1D_BUFFER;
  if (row_pitch == nullptr || (slice_pitch == nullptr && !flat) || !is_within(*state, origin, region) ||
      is_empty(region))
    return fail<void*>(error_ret, CL_INVALID_VALUE);
  const MapBase base = acquire_map_memory(*state, 0);
  if (base.pointer == nullptr) return fail<void*>(error_ret, CL_MAP_FAILURE);
  const bool lines = state->type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  std::byte* const pointer = base.pointer + origin[0] * state->pixel_bytes +
                             origin[1] * (lines ? state->slice_pitch : state->row_pitch) +
                             origin[2] * state->slice_pitch;
  const Mapping mapping{
      pointer,           flags,  {origin[0], origin[1], origin[2]}, {region[0], region[1], region[2]},
      base.shadow_owner, nullptr};
  void* const mapped = map(command, object_of(image), blocking != CL_FALSE, mapping, error_ret);
  if (mapped == nullptr) return nullptr;
  *row_pitch = state->row_pitch;
  if (slice_pitch != nullptr) *slice_pitch = flat ? 0 : state->slice_pitch;
  return mapped;
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void* pointer,
                                           cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_UNMAP_MEM_OBJECT});
  MemoryState* const state = command.memory(memory);
  if (state == nullptr) return command.error;
  const auto mapping = pointer == nullptr ? std::nullopt : remove_mapping(*state, pointer);
  if (!mapping) return CL_INVALID_VALUE;
  const cl_int error = unmap(command, *state, *mapping);
  release_mapping(*mapping);
  client.objects.drop(object_of(memory));
  return error;
}

}  // namespace cleave::remote::client
