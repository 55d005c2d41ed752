// Rectangular transfers of buffers.
#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/byte_box.h"
#include "tests/sim/driver/memory/memory.h"

namespace cleave::sim {
namespace rect_functions {

Size3 size3(const std::size_t* values) { return {values[0], values[1], values[2]}; }

Layout layout_in(const Memory& buffer, const std::size_t* origin, const std::size_t* region,
                 std::size_t row_pitch, std::size_t slice_pitch) {
  const Layout layout = layout_of(origin, region, row_pitch, slice_pitch);
  require(end_of(layout, size3(region)) <= buffer.size, CL_INVALID_VALUE);
  return layout;
}

void read(CallFrame& frame, Queue& queue, Memory& buffer, cl_bool blocking, const std::size_t* buffer_origin,
          const std::size_t* host_origin, const std::size_t* region, std::size_t buffer_row,
          std::size_t buffer_slice, std::size_t host_row, std::size_t host_slice, void* to,
          WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  require(to != nullptr, CL_INVALID_VALUE);
  const Layout from = layout_in(buffer, buffer_origin, region, buffer_row, buffer_slice);
  const Layout host = layout_of(host_origin, region, host_row, host_slice);
  require_host_reads(buffer);
  auto effect = [held = shared(buffer), to, from, host, size = size3(region)] {
    copy_box(static_cast<std::byte*>(to), host, held->data, from, size);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_READ_BUFFER_RECT, effect, wait_list, blocking);
}

void write(CallFrame& frame, Queue& queue, Memory& buffer, cl_bool blocking, const std::size_t* buffer_origin,
           const std::size_t* host_origin, const std::size_t* region, std::size_t buffer_row,
           std::size_t buffer_slice, std::size_t host_row, std::size_t host_slice, const void* from,
           WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  require(from != nullptr, CL_INVALID_VALUE);
  const Layout to = layout_in(buffer, buffer_origin, region, buffer_row, buffer_slice);
  const Layout host = layout_of(host_origin, region, host_row, host_slice);
  require_host_writes(buffer);
  auto effect = [held = shared(buffer), from, to, host, size = size3(region)] {
    copy_box(held->data, to, static_cast<const std::byte*>(from), host, size);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_WRITE_BUFFER_RECT, effect, wait_list, blocking);
}

void copy(CallFrame& frame, Queue& queue, Memory& from, Memory& to, const std::size_t* from_origin,
          const std::size_t* to_origin, const std::size_t* region, std::size_t from_row,
          std::size_t from_slice, std::size_t to_row, std::size_t to_slice, WaitListArguments wait_list) {
  require_buffer(queue, from);
  require_buffer(queue, to);
  const Layout source = layout_in(from, from_origin, region, from_row, from_slice);
  const Layout target = layout_in(to, to_origin, region, to_row, to_slice);
  auto effect = [held_from = shared(from), held_to = shared(to), source, target, size = size3(region)] {
    copy_box(held_to->data, target, held_from->data, source, size);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_COPY_BUFFER_RECT, effect, wait_list);
}

}  // namespace rect_functions

void rect_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueReadBufferRect, read);
  SIM_IMPLEMENT(clEnqueueWriteBufferRect, write);
  SIM_IMPLEMENT(clEnqueueCopyBufferRect, copy);
}

}  // namespace cleave::sim
