// Commands without data of the program's: copies, fills, migrations, markers and barriers. Simple parameters are checked
// here, others by the driver.
#include "remote/client/api/api.h"
#include "remote/client/api/command.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/wire_types.h"

namespace cleave::remote::client {
namespace {

// The two memory objects of a copy. If one is missing, `command.error` says why.
struct Pair {
  Pair(Command& command, cl_mem source, cl_mem target) {
    from = command.memory(source);
    to = from == nullptr ? nullptr : command.memory(target);
  }
  explicit operator bool() const { return to != nullptr; }

  MemoryState* from = nullptr;
  MemoryState* to = nullptr;
};

bool fits(const MemoryState& buffer, std::size_t offset, std::size_t size) {
  return buffer.type == CL_MEM_OBJECT_BUFFER && size != 0 && offset <= buffer.size &&
         size <= buffer.size - offset;
}

// Whether both may be the same memory: the same object, or sub-buffers of one buffer.
bool may_overlap(const MemoryState& a, const MemoryState& b) {
  const auto root = [](const MemoryState& state) {
    return state.parent == nullptr ? &state : &state_of<MemoryState>(*state.parent);
  };
  return root(a) == root(b);
}

template <typename Make>
cl_int send(Command& command, bool certainly_valid, Make make) {
  return certainly_valid ? command.send(make) : command.send_checked(make);
}

}  // namespace

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem target,
                                       size_t source_offset, size_t target_offset, size_t size,
                                       cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_COPY_BUFFER});
  const Pair pair(command, source, target);
  if (!pair) return command.error;
  const bool certainly_valid = fits(*pair.from, source_offset, size) && fits(*pair.to, target_offset, size) &&
                               !may_overlap(*pair.from, *pair.to);
  return send(command, certainly_valid, [&](auto& b) {
    return wire::CreateCopyBuffer(b, pair.from->id, pair.to->id, source_offset, target_offset, size);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem target,
                                           const size_t* source_origin, const size_t* target_origin,
                                           const size_t* region, size_t source_row_pitch,
                                           size_t source_slice_pitch, size_t target_row_pitch,
                                           size_t target_slice_pitch, cl_uint wait_count,
                                           const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_COPY_BUFFER_RECT});
  const Pair pair(command, source, target);
  if (!pair) return command.error;
  if (source_origin == nullptr || target_origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  Rect a{source_origin, region, source_row_pitch, source_slice_pitch};
  Rect c{target_origin, region, target_row_pitch, target_slice_pitch};
  const bool certainly_valid = !is_empty(region) && a.complete() && c.complete() &&
                               fits(*pair.from, 0, a.end()) && fits(*pair.to, 0, c.end()) &&
                               !may_overlap(*pair.from, *pair.to);
  return send(command, certainly_valid, [&](auto& b) {
    const wire::Size3 first = size3(source_origin);
    const wire::Size3 second = size3(target_origin);
    const wire::Size3 extent = size3(region);
    return wire::CreateCopyBufferRect(b, pair.from->id, pair.to->id, &first, &second, &extent,
                                      source_row_pitch, source_slice_pitch, target_row_pitch,
                                      target_slice_pitch);
  });
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                                       size_t pattern_size, size_t offset, size_t size, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_FILL_BUFFER});
  const MemoryState* const state = command.memory(buffer);
  if (state == nullptr) return command.error;
  if (!is_pattern(pattern, pattern_size)) return CL_INVALID_VALUE;
  const bool certainly_valid =
      fits(*state, offset, size) && offset % pattern_size == 0 && size % pattern_size == 0;
  return send(command, certainly_valid, [&](auto& b) {
    const auto bytes = b.CreateVector(static_cast<const std::uint8_t*>(pattern), pattern_size);
    return wire::CreateFillBuffer(b, state->id, bytes, offset, size);
  });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem target,
                                      const size_t* source_origin, const size_t* target_origin,
                                      const size_t* region, cl_uint wait_count, const cl_event* wait_list,
                                      cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_COPY_IMAGE});
  const Pair pair(command, source, target);
  if (!pair) return command.error;
  if (source_origin == nullptr || target_origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  return command.send_checked([&](auto& b) {
    const wire::Size3 first = size3(source_origin);
    const wire::Size3 second = size3(target_origin);
    const wire::Size3 extent = size3(region);
    return wire::CreateCopyImage(b, pair.from->id, pair.to->id, &first, &second, &extent);
  });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                              const size_t* origin, const size_t* region, size_t offset,
                                              cl_uint wait_count, const cl_event* wait_list,
                                              cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_COPY_IMAGE_TO_BUFFER});
  const Pair pair(command, image, buffer);
  if (!pair) return command.error;
  if (origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  return command.send_checked([&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateCopyImageToBuffer(b, pair.from->id, pair.to->id, &part.origin, &part.extent, offset);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image,
                                              size_t offset, const size_t* origin, const size_t* region,
                                              cl_uint wait_count, const cl_event* wait_list,
                                              cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_COPY_BUFFER_TO_IMAGE});
  const Pair pair(command, buffer, image);
  if (!pair) return command.error;
  if (origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  return command.send_checked([&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateCopyBufferToImage(b, pair.from->id, pair.to->id, offset, &part.origin, &part.extent);
  });
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void* color,
                                      const size_t* origin, const size_t* region, cl_uint wait_count,
                                      const cl_event* wait_list, cl_event* event) {
  constexpr std::size_t kColor = 16;
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_FILL_IMAGE});
  const MemoryState* const state = command.memory(image);
  if (state == nullptr) return command.error;
  if (color == nullptr || origin == nullptr || region == nullptr) return CL_INVALID_VALUE;
  return command.send_checked([&](auto& b) {
    const WireRegion part(origin, region);
    // The color of a depth image is one float.
    std::array<std::uint8_t, kColor> bytes{};
    std::memcpy(bytes.data(), color,
                state->format.image_channel_order == CL_DEPTH ? sizeof(cl_float) : kColor);
    return wire::CreateFillImage(b, state->id, b.CreateVector(bytes.data(), bytes.size()), &part.origin,
                                 &part.extent);
  });
}

cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count, const cl_mem* list,
                                              cl_mem_migration_flags flags, cl_uint wait_count,
                                              const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_MIGRATE_MEM_OBJECTS});
  if (command.error != CL_SUCCESS) return command.error;
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  std::vector<Id> ids;
  for (cl_uint i = 0; i < count; ++i) {
    const MemoryState* const state = command.memory(list[i]);
    if (state == nullptr) return command.error;
    ids.push_back(state->id);
  }
  constexpr cl_mem_migration_flags kKnown =
      CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
  if ((flags & ~kKnown) != 0) return CL_INVALID_VALUE;
  return command.send([&](auto& b) { return wire::CreateMigrate(b, b.CreateVector(ids), flags); });
}

cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint wait_count,
                                               const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_MARKER});
  if (command.error != CL_SUCCESS) return command.error;
  return command.send([](auto& b) { return wire::CreateMarker(b, false); });
}

cl_int CL_API_CALL clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint wait_count,
                                                const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_BARRIER});
  if (command.error != CL_SUCCESS) return command.error;
  return command.send([](auto& b) { return wire::CreateBarrier(b, false); });
}

cl_int CL_API_CALL clEnqueueMarker(cl_command_queue queue, cl_event* event) {
  Command command({queue, 0, nullptr, event, CL_COMMAND_MARKER});
  if (command.error != CL_SUCCESS) return command.error;
  if (event == nullptr) return CL_INVALID_VALUE;
  return command.send([](auto& b) { return wire::CreateMarker(b, true); });
}

cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue queue) {
  Command command({queue, 0, nullptr, nullptr, CL_COMMAND_BARRIER});
  if (command.error != CL_SUCCESS) return command.error;
  return command.send([](auto& b) { return wire::CreateBarrier(b, true); });
}

// Later commands wait for these events, like after a barrier with a wait list.
cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* list) {
  Command command({queue, count, list, nullptr, CL_COMMAND_BARRIER});
  if (command.error == CL_INVALID_EVENT_WAIT_LIST)
    return count == 0 || list == nullptr ? CL_INVALID_VALUE : CL_INVALID_EVENT;
  if (command.error != CL_SUCCESS) return command.error;
  if (count == 0) return CL_INVALID_VALUE;
  return command.send([](auto& b) { return wire::CreateBarrier(b, false); });
}

}  // namespace cleave::remote::client
