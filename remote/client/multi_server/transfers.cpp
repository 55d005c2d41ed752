// Reads and writes. They go to the queue's own server; what is elsewhere is moved there first.
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/queued_command.h"

namespace cleave::remote::client::multi_server {
namespace {

Access access_of_write_to(cl_mem handle, std::size_t offset, std::size_t size) {
  const Object* const object = find(handle);
  return object == nullptr ? Access::write : access_of_write(state_of<MemoryState>(*object), offset, size);
}

}  // namespace

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                       size_t size, void* pointer, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, Access::read);
  return command.transfer(blocking != CL_FALSE, [&](const Waits& w) {
    return client::clEnqueueReadBuffer(queue, here, CL_FALSE, offset, size, pointer, w.count, w.list,
                                       w.event);
  });
}

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void* pointer, cl_uint wait_count,
                                        const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, access_of_write_to(buffer, offset, size));
  return command.transfer(blocking != CL_FALSE, [&](const Waits& w) {
    return client::clEnqueueWriteBuffer(queue, here, CL_FALSE, offset, size, pointer, w.count, w.list,
                                        w.event);
  });
}

cl_int CL_API_CALL clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                           const size_t* origin, const size_t* host_origin,
                                           const size_t* region, size_t row_pitch, size_t slice_pitch,
                                           size_t host_row_pitch, size_t host_slice_pitch, void* pointer,
                                           cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, Access::read);
  return command.transfer(blocking != CL_FALSE, [&](const Waits& w) {
    return client::clEnqueueReadBufferRect(queue, here, CL_FALSE, origin, host_origin, region, row_pitch,
                                           slice_pitch, host_row_pitch, host_slice_pitch, pointer, w.count,
                                           w.list, w.event);
  });
}

cl_int CL_API_CALL clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                            const size_t* origin, const size_t* host_origin,
                                            const size_t* region, size_t row_pitch, size_t slice_pitch,
                                            size_t host_row_pitch, size_t host_slice_pitch,
                                            const void* pointer, cl_uint wait_count,
                                            const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, Access::write);
  return command.transfer(blocking != CL_FALSE, [&](const Waits& w) {
    return client::clEnqueueWriteBufferRect(queue, here, CL_FALSE, origin, host_origin, region, row_pitch,
                                            slice_pitch, host_row_pitch, host_slice_pitch, pointer, w.count,
                                            w.list, w.event);
  });
}

cl_int CL_API_CALL clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                      const size_t* origin, const size_t* region, size_t row_pitch,
                                      size_t slice_pitch, void* pointer, cl_uint wait_count,
                                      const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(image, Access::read);
  return command.transfer(blocking != CL_FALSE, [&](const Waits& w) {
    return client::clEnqueueReadImage(queue, here, CL_FALSE, origin, region, row_pitch, slice_pitch, pointer,
                                      w.count, w.list, w.event);
  });
}

cl_int CL_API_CALL clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                       const size_t* origin, const size_t* region, size_t row_pitch,
                                       size_t slice_pitch, const void* pointer, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(image, Access::write);
  return command.transfer(blocking != CL_FALSE, [&](const Waits& w) {
    return client::clEnqueueWriteImage(queue, here, CL_FALSE, origin, region, row_pitch, slice_pitch, pointer,
                                       w.count, w.list, w.event);
  });
}

}  // namespace cleave::remote::client::multi_server
