// Reading and writing buffers and images. What can be wrong with them is checked here, so they do not wait for the driver to
// accept them, with one exception: whether a transfer of no bytes is an error depends on the driver.
#include "remote/client/api/api.h"
#include "remote/client/api/command.h"
#include "remote/client/api/regions.h"
#include "remote/client/link/wire_types.h"

namespace cleave::remote::client {
namespace {

constexpr cl_mem_flags kNotReadable = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kNotWritable = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

// A buffer, or an image, that the host may access so. Null: `command.error` says why.
MemoryState* resolve(Command& command, cl_mem handle, bool wants_image, cl_mem_flags forbidden) {
  MemoryState* const state = command.memory(handle);
  if (state == nullptr) return nullptr;
  const bool is_right = wants_image ? is_image(*state) : state->type == CL_MEM_OBJECT_BUFFER;
  if (!is_right) return command.error = CL_INVALID_MEM_OBJECT, nullptr;
  if ((state->flags & forbidden) != 0) return command.error = CL_INVALID_OPERATION, nullptr;
  return state;
}

bool is_within(const MemoryState& buffer, std::size_t offset, std::size_t size) {
  return offset <= buffer.size && size <= buffer.size - offset;
}

}  // namespace

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, void* pointer, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_READ_BUFFER});
  const MemoryState* const state = resolve(command, buffer, false, kNotReadable);
  if (state == nullptr) return command.error;
  if (pointer == nullptr || !is_within(*state, offset, size)) return CL_INVALID_VALUE;
  if (size == 0) command.doubt();
  return command.send_read(blocking != CL_FALSE, Box::contiguous(pointer, size),
                           [&](auto& b) { return wire::CreateReadBuffer(b, state->id, offset, size); });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void* pointer, cl_uint wait_count,
                                        const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_WRITE_BUFFER});
  const MemoryState* const state = resolve(command, buffer, false, kNotWritable);
  if (state == nullptr) return command.error;
  if (pointer == nullptr || !is_within(*state, offset, size)) return CL_INVALID_VALUE;
  if (size == 0) command.doubt();
  return command.send_write(blocking != CL_FALSE, Box::contiguous(const_cast<void*>(pointer), size),
                            [&](auto& b) { return wire::CreateWriteBuffer(b, state->id, offset, size); });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                           const size_t* origin, const size_t* host_origin,
                                           const size_t* region, size_t row_pitch, size_t slice_pitch,
                                           size_t host_row_pitch, size_t host_slice_pitch, void* pointer,
                                           cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_READ_BUFFER_RECT});
  const MemoryState* const state = resolve(command, buffer, false, kNotReadable);
  if (state == nullptr) return command.error;
  Rect rect{origin, region, row_pitch, slice_pitch};
  Rect host{host_origin, region, host_row_pitch, host_slice_pitch};
  if (pointer == nullptr || !rect.complete() || !host.complete() || rect.end() > state->size)
    return CL_INVALID_VALUE;
  if (is_empty(region)) command.doubt();
  return command.send_read(blocking != CL_FALSE, host.box(pointer), [&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateReadBufferRect(b, state->id, &part.origin, &part.extent, rect.row_pitch,
                                      rect.slice_pitch);
  });
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                            const size_t* origin, const size_t* host_origin,
                                            const size_t* region, size_t row_pitch, size_t slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch,
                                            const void* pointer, cl_uint wait_count,
                                            const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_WRITE_BUFFER_RECT});
  const MemoryState* const state = resolve(command, buffer, false, kNotWritable);
  if (state == nullptr) return command.error;
  Rect rect{origin, region, row_pitch, slice_pitch};
  Rect host{host_origin, region, host_row_pitch, host_slice_pitch};
  if (pointer == nullptr || !rect.complete() || !host.complete() || rect.end() > state->size)
    return CL_INVALID_VALUE;
  if (is_empty(region)) command.doubt();
  return command.send_write(blocking != CL_FALSE, host.box(const_cast<void*>(pointer)), [&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateWriteBufferRect(b, state->id, &part.origin, &part.extent, rect.row_pitch,
                                       rect.slice_pitch);
  });
}

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t* origin, const size_t* region, size_t row_pitch,
                                      size_t slice_pitch, void* pointer, cl_uint wait_count,
                                      const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_READ_IMAGE});
  const MemoryState* const state = resolve(command, image, true, kNotReadable);
  if (state == nullptr) return command.error;
  ImageRegion host{origin, region, row_pitch, slice_pitch};
  if (pointer == nullptr || !host.complete(*state)) return CL_INVALID_VALUE;
  if (is_empty(region)) command.doubt();
  return command.send_read(blocking != CL_FALSE, host.box(*state, pointer), [&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateReadImage(b, state->id, &part.origin, &part.extent);
  });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                       const size_t* origin, const size_t* region, size_t row_pitch,
                                       size_t slice_pitch, const void* pointer, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_WRITE_IMAGE});
  const MemoryState* const state = resolve(command, image, true, kNotWritable);
  if (state == nullptr) return command.error;
  ImageRegion host{origin, region, row_pitch, slice_pitch};
  if (pointer == nullptr || !host.complete(*state)) return CL_INVALID_VALUE;
  if (is_empty(region)) command.doubt();
  return command.send_write(blocking != CL_FALSE, host.box(*state, const_cast<void*>(pointer)), [&](auto& b) {
    const WireRegion part(origin, region);
    return wire::CreateWriteImage(b, state->id, &part.origin, &part.extent);
  });
}

}  // namespace cleave::remote::client
