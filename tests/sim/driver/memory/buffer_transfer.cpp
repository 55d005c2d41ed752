// Commands that move a buffer's bytes: read, write, copy, fill, migrate.
#include <algorithm>
#include <cstring>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/byte_box.h"
#include "tests/sim/driver/memory/memory.h"

namespace cleave::sim {
namespace {

void require_inside(const Memory& memory, std::size_t offset, std::size_t size) {
  require(size > 0 && offset <= memory.size && size <= memory.size - offset, CL_INVALID_VALUE);
}

void read(CallFrame& frame, cl_command_queue queue_handle, cl_mem handle, cl_bool blocking,
          std::size_t offset, std::size_t size, void* to, cl_uint count, const cl_event* waits,
          cl_event* event) {
  Queue& queue = frame.state.get(queue_handle);
  Memory& buffer = buffer_for(frame, queue, handle);
  require(to != nullptr, CL_INVALID_VALUE);
  require_inside(buffer, offset, size);
  require_host_reads(buffer);
  auto effect = [held = shared(buffer), to, offset, size] { std::memcpy(to, held->data + offset, size); };
  enqueue(frame, queue, transfer(frame.state, CL_COMMAND_READ_BUFFER, effect, blocking != CL_FALSE),
          {count, waits, event});
}

// The program's memory is read when the command ends: it must not be touched before, as the specification has
// it.
void write(CallFrame& frame, cl_command_queue queue_handle, cl_mem handle, cl_bool blocking,
           std::size_t offset, std::size_t size, const void* from, cl_uint count, const cl_event* waits,
           cl_event* event) {
  Queue& queue = frame.state.get(queue_handle);
  Memory& buffer = buffer_for(frame, queue, handle);
  require(from != nullptr, CL_INVALID_VALUE);
  require_inside(buffer, offset, size);
  require_host_writes(buffer);
  auto effect = [held = shared(buffer), from, offset, size] { std::memcpy(held->data + offset, from, size); };
  enqueue(frame, queue, transfer(frame.state, CL_COMMAND_WRITE_BUFFER, effect, blocking != CL_FALSE),
          {count, waits, event});
}

void copy(CallFrame& frame, cl_command_queue queue_handle, cl_mem from_handle, cl_mem to_handle,
          std::size_t from_offset, std::size_t to_offset, std::size_t size, cl_uint count,
          const cl_event* waits, cl_event* event) {
  Queue& queue = frame.state.get(queue_handle);
  Memory& from = buffer_for(frame, queue, from_handle);
  Memory& to = buffer_for(frame, queue, to_handle);
  require_inside(from, from_offset, size);
  require_inside(to, to_offset, size);
  const std::byte* first = from.data + from_offset;
  const std::byte* target = to.data + to_offset;
  require(first + size <= target || target + size <= first, CL_MEM_COPY_OVERLAP);
  auto effect = [source = shared(from), destination = shared(to), from_offset, to_offset, size] {
    std::memcpy(destination->data + to_offset, source->data + from_offset, size);
  };
  enqueue(frame, queue, transfer(frame.state, CL_COMMAND_COPY_BUFFER, effect), {count, waits, event});
}

// The pattern is copied at once: the program may reuse its memory when the call returns.
void fill(CallFrame& frame, cl_command_queue queue_handle, cl_mem handle, const void* pattern,
          std::size_t pattern_size, std::size_t offset, std::size_t size, cl_uint count,
          const cl_event* waits, cl_event* event) {
  Queue& queue = frame.state.get(queue_handle);
  Memory& buffer = buffer_for(frame, queue, handle);
  const bool power_of_two = pattern_size > 0 && (pattern_size & (pattern_size - 1)) == 0;
  require(pattern != nullptr && power_of_two && pattern_size <= 128, CL_INVALID_VALUE);
  require(offset % pattern_size == 0 && size % pattern_size == 0, CL_INVALID_VALUE);
  require_inside(buffer, offset, size);
  const auto* first = static_cast<const std::byte*>(pattern);
  auto effect = [held = shared(buffer), bytes = std::vector<std::byte>(first, first + pattern_size), offset,
                 size] {
    fill_box(held->data, {offset, size, size}, {size, 1, 1}, bytes.data(), bytes.size());
  };
  enqueue(frame, queue, transfer(frame.state, CL_COMMAND_FILL_BUFFER, effect), {count, waits, event});
}

void migrate(CallFrame& frame, cl_command_queue queue_handle, cl_uint objects, const cl_mem* list,
             cl_mem_migration_flags flags, cl_uint count, const cl_event* waits, cl_event* event) {
  Queue& queue = frame.state.get(queue_handle);
  require(objects > 0 && list != nullptr, CL_INVALID_VALUE);
  constexpr cl_mem_migration_flags known =
      CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
  require((flags & ~known) == 0, CL_INVALID_VALUE);
  std::vector<std::shared_ptr<Memory>> held;
  for (cl_uint i = 0; i < objects; ++i) {
    Memory& memory = frame.state.get(list[i]);
    require(memory.context == queue.context, CL_INVALID_CONTEXT);
    held.push_back(shared(memory));
  }
  enqueue(frame, queue, transfer(frame.state, CL_COMMAND_MIGRATE_MEM_OBJECTS, [held] {}),
          {count, waits, event});
}

}  // namespace

void add_transfer_functions(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueReadBuffer, read);
  SIM_IMPLEMENT(clEnqueueWriteBuffer, write);
  SIM_IMPLEMENT(clEnqueueCopyBuffer, copy);
  SIM_IMPLEMENT(clEnqueueFillBuffer, fill);
  SIM_IMPLEMENT(clEnqueueMigrateMemObjects, migrate);
}

}  // namespace cleave::sim
