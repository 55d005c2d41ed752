// Mapping and unmapping. Each shard has its own memory for maps. A map that is unmapped on another server's queue is passed
// on to the shard there.
#include <algorithm>
#include <optional>

#include "remote/client/api/memory.h"
#include "remote/client/multi_server/api.h"
#include "remote/client/multi_server/queued_command.h"

namespace cleave::remote::client::multi_server {
namespace {

constexpr cl_map_flags kChanges = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

struct Found {
  std::size_t shard;
  cl_map_flags flags;
};

std::optional<Found> find_mapping(const CompositeMemory& memory, const void* pointer, std::size_t first) {
  for (std::size_t i = 0; i < memory.shards.size(); ++i) {
    const std::size_t shard = (first + i) % memory.shards.size();
    if (memory.shards[shard] == nullptr) continue;
    MemoryState& state = state_of<MemoryState>(object_of(memory.shards[shard]));
    const base::MutexLock lock(state.mutex);
    const auto found = std::find_if(state.mappings.begin(), state.mappings.end(),
                                    [&](const Mapping& one) { return one.pointer == pointer; });
    if (found != state.mappings.end()) return Found{shard, found->flags};
  }
  return {};
}

void hand_over(cl_mem from, cl_mem to, const void* pointer) {
  const auto mapping = remove_mapping(state_of<MemoryState>(object_of(from)), pointer);
  if (!mapping) return;
  MemoryState& target = state_of<MemoryState>(object_of(to));
  const base::MutexLock lock(target.mutex);
  target.mappings.push_back(*mapping);
}

template <typename Map>
void* run_map(QueuedCommand& command, cl_mem here, bool blocking, cl_int* error_ret, Map map) {
  void* pointer = nullptr;
  const cl_int error = command.transfer(blocking, [&](auto... wait) {
    cl_int result = CL_SUCCESS;
    pointer = map(wait..., &result);
    return result;
  });
  if (error_ret != nullptr) *error_ret = error;
  if (error == CL_SUCCESS) return pointer;
  if (pointer != nullptr) cancel_mapping(state_of<MemoryState>(object_of(here)), pointer);
  return nullptr;
}

}  // namespace

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t size, cl_uint wait_count,
                                     const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(buffer, Access::read);
  return run_map(command, here, blocking != CL_FALSE, error_ret, [&](auto... wait) {
    return client::clEnqueueMapBuffer(queue, here, CL_FALSE, flags, offset, size, wait...);
  });
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t* origin, const size_t* region,
                                    size_t* row_pitch, size_t* slice_pitch, cl_uint wait_count,
                                    const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const cl_mem here = command.use(image, Access::read);
  return run_map(command, here, blocking != CL_FALSE, error_ret, [&](auto... wait) {
    return client::clEnqueueMapImage(queue, here, CL_FALSE, flags, origin, region, row_pitch, slice_pitch,
                                     wait...);
  });
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem handle, void* pointer,
                                           cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  QueuedCommand command({queue, wait_count, wait_list, event});
  const CompositeMemory* const memory = command.memory(handle);
  if (memory == nullptr) return command.error;
  const cl_mem here = memory->shards[command.shard()];
  if (here == nullptr) return kConnectionLost;
  const auto found = find_mapping(*memory, pointer, command.shard());
  if (!found || pointer == nullptr) return CL_INVALID_VALUE;
  if ((found->flags & kChanges) != 0) command.use(memory->coherence, Access::write);
  return command.transfer(false, [&](auto... wait) {
    if (found->shard != command.shard()) hand_over(memory->shards[found->shard], here, pointer);
    return client::clEnqueueUnmapMemObject(queue, here, pointer, wait...);
  });
}

}  // namespace cleave::remote::client::multi_server
