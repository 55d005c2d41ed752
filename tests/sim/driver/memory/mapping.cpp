// Mapping memory objects into the program's memory.
//
// A mapped region is a copy: filled when the map command ends, and written back when the unmap command does.
// A program that reads too early, or a map that overtakes a kernel, sees old data. Only what lies in the
// program's own memory (CL_MEM_USE_HOST_PTR) is mapped in place, as the specification demands.
#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/byte_box.h"
#include "tests/sim/driver/memory/image_shape.h"
#include "tests/sim/driver/memory/memory.h"

namespace cleave::sim {
namespace map_functions {

constexpr cl_map_flags writing = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

void check_map_flags(const Memory& memory, cl_map_flags flags) {
  require((flags & ~(CL_MAP_READ | writing)) == 0, CL_INVALID_VALUE);
  const bool invalidates = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  require(!invalidates || flags == CL_MAP_WRITE_INVALIDATE_REGION, CL_INVALID_VALUE);
  if ((flags & CL_MAP_READ) != 0) require_host_reads(memory);
  if ((flags & writing) != 0) require_host_writes(memory);
}

// Maps the box at `layout`. `tight` is how it lies in the program's memory; in place it lies as in the
// object.
void* map_box(CallFrame& frame, Queue& queue, Memory& memory, const Layout& layout, const Layout& tight,
              const Size3& region, cl_map_flags flags, CommandSpec spec, WaitListArguments wait_list) {
  auto mapping = std::make_shared<Memory::Mapping>();
  mapping->flags = flags;
  if ((memory.flags & CL_MEM_USE_HOST_PTR) != 0) {
    mapping->pointer = memory.data + layout.first;
    spec.effect = [held = shared(memory)] {};
  } else {
    mapping->staging.resize(end_of(tight, region));
    mapping->pointer = mapping->staging.data();
    mapping->write_back = [data = memory.data, layout, tight, region](std::byte* from) {
      copy_box(data, layout, from, tight, region);
    };
    spec.effect = [held = shared(memory), mapping, layout, tight, region] {
      copy_box(mapping->pointer, tight, held->data, layout, region);
    };
  }
  memory.mappings.push_back(mapping);
  const auto held = shared(memory);
  try {
    enqueue(frame, queue, std::move(spec), wait_list);
  } catch (const Error&) {
    std::erase(held->mappings, mapping);
    throw;
  }
  return mapping->pointer;
}

void* map_buffer(CallFrame& frame, Queue& queue, Memory& buffer, cl_bool blocking, cl_map_flags flags,
                 std::size_t offset, std::size_t size, WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  require(size > 0 && offset <= buffer.size && size <= buffer.size - offset, CL_INVALID_VALUE);
  check_map_flags(buffer, flags);
  return map_box(frame, queue, buffer, {offset, size, size}, {0, size, size}, {size, 1, 1}, flags,
                 transfer(frame.state, CL_COMMAND_MAP_BUFFER, nullptr, blocking), wait_list);
}

void* map_image(CallFrame& frame, Queue& queue, Memory& image, cl_bool blocking, cl_map_flags flags,
                const std::size_t* origin, const std::size_t* region, std::size_t* row_pitch,
                std::size_t* slice_pitch, WaitListArguments wait_list) {
  require_image(queue, image);
  const ImageBox box = image_box(image, origin, region);
  require(row_pitch != nullptr, CL_INVALID_VALUE);
  require(slice_pitch != nullptr || image.image->size[2] == 1, CL_INVALID_VALUE);
  check_map_flags(image, flags);
  const bool in_place = (image.flags & CL_MEM_USE_HOST_PTR) != 0;
  const std::size_t tight_row = box.region[0];
  const Layout tight{0, tight_row, tight_row * box.region[1]};
  *row_pitch = in_place ? box.layout.row_pitch : tight.row_pitch;
  if (slice_pitch != nullptr) *slice_pitch = in_place ? box.layout.slice_pitch : tight.slice_pitch;
  return map_box(frame, queue, image, box.layout, tight, box.region, flags,
                 transfer(frame.state, CL_COMMAND_MAP_IMAGE, nullptr, blocking), wait_list);
}

void unmap(CallFrame& frame, Queue& queue, Memory& memory, void* pointer, WaitListArguments wait_list) {
  require(memory.context == queue.context, CL_INVALID_CONTEXT);
  const auto found = std::find_if(memory.mappings.begin(), memory.mappings.end(),
                                  [&](const auto& mapping) { return mapping->pointer == pointer; });
  require(found != memory.mappings.end(), CL_INVALID_VALUE);
  const std::shared_ptr<Memory::Mapping> mapping = *found;
  auto effect = [held = shared(memory), mapping] {
    const bool written = (mapping->flags & writing) != 0;
    if (written && mapping->write_back) mapping->write_back(mapping->pointer);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_UNMAP_MEM_OBJECT, effect, wait_list);
  std::erase(memory.mappings, mapping);
}

}  // namespace map_functions

void map_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueMapBuffer, map_buffer);
  SIM_IMPLEMENT(clEnqueueMapImage, map_image);
  SIM_IMPLEMENT(clEnqueueUnmapMemObject, unmap);
}

}  // namespace cleave::sim
