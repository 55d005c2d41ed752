// Reads and writes of buffers and images, between the program's memory and the socket. All that can be wrong
// with them is known here, so they never wait for the server's opinion.
#include <algorithm>

#include "remote/client/api.h"
#include "remote/client/command.h"
#include "remote/client/memory.h"
#include "remote/client/regions.h"
#include "remote/client/wire_types.h"

namespace cleave::remote::client {
namespace {

constexpr cl_mem_flags kNotReadable = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS;
constexpr cl_mem_flags kNotWritable = CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

// A buffer of the program's that the host may use like that; null: `command.error` says why not.
MemoryBody* buffer_for(Command& command, cl_mem handle, cl_mem_flags forbidden) {
  if (command.error != CL_SUCCESS) return nullptr;
  MemoryBody* const body = command.memory(handle);
  if (body == nullptr) return nullptr;
  if (body->type != CL_MEM_OBJECT_BUFFER) return command.error = CL_INVALID_MEM_OBJECT, nullptr;
  if ((body->flags & forbidden) != 0) return command.error = CL_INVALID_OPERATION, nullptr;
  return body;
}

MemoryBody* image_for(Command& command, cl_mem handle, cl_mem_flags forbidden) {
  if (command.error != CL_SUCCESS) return nullptr;
  MemoryBody* const body = command.memory(handle);
  if (body == nullptr) return nullptr;
  if (!is_image(*body)) return command.error = CL_INVALID_MEM_OBJECT, nullptr;
  if ((body->flags & forbidden) != 0) return command.error = CL_INVALID_OPERATION, nullptr;
  return body;
}

bool is_within(const MemoryBody& buffer, std::size_t offset, std::size_t size) {
  return offset <= buffer.size && size <= buffer.size - offset;
}

template <typename Make>
cl_int write(Command& command, bool blocking, const Box& box, Make make) {
  return blocking ? command.send_blocking(make, box) : command.send(make, box);
}

}  // namespace

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, void* pointer, cl_uint waits, const cl_event* wait_list,
                                       cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_READ_BUFFER});
  const MemoryBody* const body = buffer_for(command, buffer, kNotReadable);
  if (body == nullptr) return command.error;
  if (pointer == nullptr || size == 0 || !is_within(*body, offset, size)) return CL_INVALID_VALUE;
  return command.send_read(blocking != CL_FALSE, Box::line(pointer, size),
                           [&](auto& b) { return wire::CreateReadBuffer(b, body->id, offset, size); });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void* pointer, cl_uint waits,
                                        const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_WRITE_BUFFER});
  const MemoryBody* const body = buffer_for(command, buffer, kNotWritable);
  if (body == nullptr) return command.error;
  if (pointer == nullptr || size == 0 || !is_within(*body, offset, size)) return CL_INVALID_VALUE;
  return write(command, blocking != CL_FALSE, Box::line(const_cast<void*>(pointer), size),
               [&](auto& b) { return wire::CreateWriteBuffer(b, body->id, offset, size); });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                           const size_t* origin, const size_t* host_origin,
                                           const size_t* region, size_t row_pitch, size_t slice_pitch,
                                           size_t host_row_pitch, size_t host_slice_pitch, void* pointer,
                                           cl_uint waits, const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_READ_BUFFER_RECT});
  const MemoryBody* const body = buffer_for(command, buffer, kNotReadable);
  if (body == nullptr) return command.error;
  Rect rect{origin, region, row_pitch, slice_pitch};
  Rect host{host_origin, region, host_row_pitch, host_slice_pitch};
  if (pointer == nullptr || !rect.complete() || !host.complete() || rect.end() > body->size)
    return CL_INVALID_VALUE;
  return command.send_read(blocking != CL_FALSE, host.box(pointer), [&](auto& b) {
    const wire::Size3 at = size3(origin);
    const wire::Size3 extent = size3(region);
    return wire::CreateReadBufferRect(b, body->id, &at, &extent, rect.row_pitch, rect.slice_pitch);
  });
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                            const size_t* origin, const size_t* host_origin,
                                            const size_t* region, size_t row_pitch, size_t slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch,
                                            const void* pointer, cl_uint waits, const cl_event* wait_list,
                                            cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_WRITE_BUFFER_RECT});
  const MemoryBody* const body = buffer_for(command, buffer, kNotWritable);
  if (body == nullptr) return command.error;
  Rect rect{origin, region, row_pitch, slice_pitch};
  Rect host{host_origin, region, host_row_pitch, host_slice_pitch};
  if (pointer == nullptr || !rect.complete() || !host.complete() || rect.end() > body->size)
    return CL_INVALID_VALUE;
  return write(command, blocking != CL_FALSE, host.box(const_cast<void*>(pointer)), [&](auto& b) {
    const wire::Size3 at = size3(origin);
    const wire::Size3 extent = size3(region);
    return wire::CreateWriteBufferRect(b, body->id, &at, &extent, rect.row_pitch, rect.slice_pitch);
  });
}

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t* origin, const size_t* region, size_t row_pitch,
                                      size_t slice_pitch, void* pointer, cl_uint waits,
                                      const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_READ_IMAGE});
  const MemoryBody* const body = image_for(command, image, kNotReadable);
  if (body == nullptr) return command.error;
  ImageRegion host{origin, region, row_pitch, slice_pitch};
  if (pointer == nullptr || !host.complete(*body)) return CL_INVALID_VALUE;
  return command.send_read(blocking != CL_FALSE, host.box(*body, pointer), [&](auto& b) {
    const wire::Size3 at = size3(origin);
    const wire::Size3 extent = size3(region);
    return wire::CreateReadImage(b, body->id, &at, &extent);
  });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                       const size_t* origin, const size_t* region, size_t row_pitch,
                                       size_t slice_pitch, const void* pointer, cl_uint waits,
                                       const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_WRITE_IMAGE});
  const MemoryBody* const body = image_for(command, image, kNotWritable);
  if (body == nullptr) return command.error;
  ImageRegion host{origin, region, row_pitch, slice_pitch};
  if (pointer == nullptr || !host.complete(*body)) return CL_INVALID_VALUE;
  return write(command, blocking != CL_FALSE, host.box(*body, const_cast<void*>(pointer)), [&](auto& b) {
    const wire::Size3 at = size3(origin);
    const wire::Size3 extent = size3(region);
    return wire::CreateWriteImage(b, body->id, &at, &extent);
  });
}

}  // namespace cleave::remote::client
