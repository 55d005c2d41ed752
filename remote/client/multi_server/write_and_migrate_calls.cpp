// Writes of buffers, and migrations. Every other command that reads or writes memory objects is derived from its row
// (derived_memory_calls.h).
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/queued_command.h"

namespace cleave::remote::client::multi_server {
namespace {

Access access_of_write_to(cl_mem handle, std::size_t offset, std::size_t size) {
  const Object* const object = find(handle);
  return object == nullptr ? Access::write : access_of_write(state_of<MemoryState>(*object), offset, size);
}

}  // namespace

cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                        size_t offset, size_t size, const void* pointer, cl_uint wait_count,
                                        const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, access_of_write_to(buffer, offset, size));
  return command.transfer(blocking != CL_FALSE, [&](auto... wait) {
    return client::clEnqueueWriteBuffer(queue, here, CL_FALSE, offset, size, pointer, wait...);
  });
}

// To a device: the contents are migrated to the queue's server. To the host: nothing to do until they are mapped.
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
  return command.run([&](auto... wait) {
    return client::clEnqueueMigrateMemObjects(queue, count, here.data(), flags, wait...);
  });
}

}  // namespace cleave::remote::client::multi_server
