// Maps. Each part has its own place in the program's memory for them; a map that is taken back on another
// server's queue is handed over to the part there.
#include <algorithm>
#include <optional>

#include "remote/client/memory.h"
#include "remote/client/spread/api.h"
#include "remote/client/spread/turn.h"

namespace cleave::remote::client::spread {
namespace {

constexpr cl_map_flags kChanges = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

struct Found {
  std::size_t part;
  cl_map_flags flags;
};

std::optional<Found> find_mapping(const WholeMemory& memory, const void* pointer, std::size_t first) {
  for (std::size_t i = 0; i < memory.parts.size(); ++i) {
    const std::size_t part = (first + i) % memory.parts.size();
    if (memory.parts[part] == nullptr) continue;
    MemoryBody& body = body_of<MemoryBody>(*find(memory.parts[part]));
    const std::scoped_lock lock(body.mutex);
    const auto found = std::find_if(body.mappings.begin(), body.mappings.end(),
                                    [&](const Mapping& one) { return one.pointer == pointer; });
    if (found != body.mappings.end()) return Found{part, found->flags};
  }
  return {};
}

void hand_over(cl_mem from, cl_mem to, const void* pointer) {
  const auto mapping = take_mapping(body_of<MemoryBody>(*find(from)), pointer);
  if (!mapping) return;
  MemoryBody& target = body_of<MemoryBody>(*find(to));
  const std::scoped_lock lock(target.mutex);
  target.mappings.push_back(*mapping);
}

template <typename Map>
void* run_map(Turn& turn, cl_mem here, bool blocking, cl_int* error_ret, Map map) {
  void* pointer = nullptr;
  const cl_int error = turn.transfer(blocking, [&](const Waits& w) {
    cl_int result = CL_SUCCESS;
    pointer = map(w, &result);
    return result;
  });
  if (error_ret != nullptr) *error_ret = error;
  if (error == CL_SUCCESS) return pointer;
  if (pointer != nullptr) forget_mapping(body_of<MemoryBody>(*find(here)), pointer);
  return nullptr;
}

}  // namespace

void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     cl_map_flags flags, size_t offset, size_t size, cl_uint waits,
                                     const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Turn turn({queue, waits, wait_list, event});
  const cl_mem here = turn.use(buffer, Access::read);
  return run_map(turn, here, blocking != CL_FALSE, error_ret, [&](const Waits& w, cl_int* error) {
    return client::clEnqueueMapBuffer(queue, here, CL_FALSE, flags, offset, size, w.count, w.list, w.event,
                                      error);
  });
}

void* CL_API_CALL clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                    cl_map_flags flags, const size_t* origin, const size_t* region,
                                    size_t* row_pitch, size_t* slice_pitch, cl_uint waits,
                                    const cl_event* wait_list, cl_event* event, cl_int* error_ret) {
  Turn turn({queue, waits, wait_list, event});
  const cl_mem here = turn.use(image, Access::read);
  return run_map(turn, here, blocking != CL_FALSE, error_ret, [&](const Waits& w, cl_int* error) {
    return client::clEnqueueMapImage(queue, here, CL_FALSE, flags, origin, region, row_pitch, slice_pitch,
                                     w.count, w.list, w.event, error);
  });
}

cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem handle, void* pointer,
                                           cl_uint waits, const cl_event* wait_list, cl_event* event) {
  Turn turn({queue, waits, wait_list, event});
  const WholeMemory* const memory = turn.memory(handle);
  if (memory == nullptr) return turn.error;
  const cl_mem here = memory->parts[turn.part()];
  if (here == nullptr) return kGone;
  const auto found = find_mapping(*memory, pointer, turn.part());
  if (!found || pointer == nullptr) return CL_INVALID_VALUE;
  if ((found->flags & kChanges) != 0) turn.use(memory->contents, Access::write);
  return turn.transfer(false, [&](const Waits& w) {
    if (found->part != turn.part()) hand_over(memory->parts[found->part], here, pointer);
    return client::clEnqueueUnmapMemObject(queue, here, pointer, w.count, w.list, w.event);
  });
}

}  // namespace cleave::remote::client::spread
