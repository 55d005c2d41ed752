// Copies, fills and migrations, on the queue's server.
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/queued_command.h"

namespace cleave::remote::client::multi_server {

cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem target,
                                       size_t source_offset, size_t target_offset, size_t size,
                                       cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem from = command.use(source, Access::read);
  const cl_mem to = command.use(target, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueCopyBuffer(queue, from, to, source_offset, target_offset, size, w.count, w.list,
                                       w.event);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem target,
                                           const size_t* source_origin, const size_t* target_origin,
                                           const size_t* region, size_t source_row_pitch,
                                           size_t source_slice_pitch, size_t target_row_pitch,
                                           size_t target_slice_pitch, cl_uint wait_count,
                                           const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem from = command.use(source, Access::read);
  const cl_mem to = command.use(target, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueCopyBufferRect(queue, from, to, source_origin, target_origin, region,
                                           source_row_pitch, source_slice_pitch, target_row_pitch,
                                           target_slice_pitch, w.count, w.list, w.event);
  });
}

cl_int CL_API_CALL clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem target,
                                      const size_t* source_origin, const size_t* target_origin,
                                      const size_t* region, cl_uint wait_count, const cl_event* wait_list,
                                      cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem from = command.use(source, Access::read);
  const cl_mem to = command.use(target, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueCopyImage(queue, from, to, source_origin, target_origin, region, w.count, w.list,
                                      w.event);
  });
}

cl_int CL_API_CALL clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                              const size_t* origin, const size_t* region, size_t offset,
                                              cl_uint wait_count, const cl_event* wait_list,
                                              cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem from = command.use(image, Access::read);
  const cl_mem to = command.use(buffer, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset, w.count, w.list,
                                              w.event);
  });
}

cl_int CL_API_CALL clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem buffer, cl_mem image,
                                              size_t offset, const size_t* origin, const size_t* region,
                                              cl_uint wait_count, const cl_event* wait_list,
                                              cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem from = command.use(buffer, Access::read);
  const cl_mem to = command.use(image, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, w.count, w.list,
                                              w.event);
  });
}

cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void* pattern,
                                       size_t pattern_size, size_t offset, size_t size, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueFillBuffer(queue, here, pattern, pattern_size, offset, size, w.count, w.list,
                                       w.event);
  });
}

cl_int CL_API_CALL clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void* color,
                                      const size_t* origin, const size_t* region, cl_uint wait_count,
                                      const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(image, Access::write);
  return command.run([&](const Waits& w) {
    return client::clEnqueueFillImage(queue, here, color, origin, region, w.count, w.list, w.event);
  });
}

// To the queue's device, the contents with it; to the host they go when they are mapped.
cl_int CL_API_CALL clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint count, const cl_mem* list,
                                              cl_mem_migration_flags flags, cl_uint wait_count,
                                              const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  if (command.error != CL_SUCCESS) return command.error;
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  std::vector<cl_mem> here;
  for (cl_uint i = 0; i < count; ++i) {
    const CompositeMemory* const memory = command.memory(list[i]);
    if (memory == nullptr) return command.error;
    here.push_back(memory->shards[command.shard()]);
    if (here.back() == nullptr) return kConnectionLost;
    if (flags == 0) command.use(memory->coherence, Access::read);
  }
  return command.run([&](const Waits& w) {
    return client::clEnqueueMigrateMemObjects(queue, count, here.data(), flags, w.count, w.list, w.event);
  });
}

}  // namespace cleave::remote::client::multi_server
