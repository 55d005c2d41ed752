// Commands that move a buffer's bytes: read, write, copy, fill, migrate.
#include <algorithm>
#include <cstring>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/byte_box.h"
#include "tests/sim/driver/memory/memory.h"

namespace cleave::sim {
namespace transfer_functions {

void require_inside(const Memory& memory, std::size_t offset, std::size_t size) {
  require(size > 0 && offset <= memory.size && size <= memory.size - offset, CL_INVALID_VALUE);
}

void read(CallFrame& frame, Queue& queue, Memory& buffer, cl_bool blocking, std::size_t offset,
          std::size_t size, void* to, WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  require(to != nullptr, CL_INVALID_VALUE);
  require_inside(buffer, offset, size);
  require_host_reads(buffer);
  auto effect = [held = shared(buffer), to, offset, size] { std::memcpy(to, held->data + offset, size); };
  enqueue_transfer(frame, queue, CL_COMMAND_READ_BUFFER, effect, wait_list, blocking);
}

// The program's memory is read when the command ends: it must not be touched before, as the specification has
// it.
void write(CallFrame& frame, Queue& queue, Memory& buffer, cl_bool blocking, std::size_t offset,
           std::size_t size, const void* from, WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  require(from != nullptr, CL_INVALID_VALUE);
  require_inside(buffer, offset, size);
  require_host_writes(buffer);
  auto effect = [held = shared(buffer), from, offset, size] { std::memcpy(held->data + offset, from, size); };
  enqueue_transfer(frame, queue, CL_COMMAND_WRITE_BUFFER, effect, wait_list, blocking);
}

void copy(CallFrame& frame, Queue& queue, Memory& from, Memory& to, std::size_t from_offset,
          std::size_t to_offset, std::size_t size, WaitListArguments wait_list) {
  require_buffer(queue, from);
  require_buffer(queue, to);
  require_inside(from, from_offset, size);
  require_inside(to, to_offset, size);
  const std::byte* first = from.data + from_offset;
  const std::byte* target = to.data + to_offset;
  require(first + size <= target || target + size <= first, CL_MEM_COPY_OVERLAP);
  auto effect = [source = shared(from), destination = shared(to), from_offset, to_offset, size] {
    std::memcpy(destination->data + to_offset, source->data + from_offset, size);
  };
  enqueue_transfer(frame, queue, CL_COMMAND_COPY_BUFFER, effect, wait_list);
}

// The pattern is copied at once: the program may reuse its memory when the call returns.
void fill(CallFrame& frame, Queue& queue, Memory& buffer, const void* pattern, std::size_t pattern_size,
          std::size_t offset, std::size_t size, WaitListArguments wait_list) {
  require_buffer(queue, buffer);
  const bool power_of_two = pattern_size > 0 && (pattern_size & (pattern_size - 1)) == 0;
  require(pattern != nullptr && power_of_two && pattern_size <= 128, CL_INVALID_VALUE);
  require(offset % pattern_size == 0 && size % pattern_size == 0, CL_INVALID_VALUE);
  require_inside(buffer, offset, size);
  const auto* first = static_cast<const std::byte*>(pattern);
  auto effect = [held = shared(buffer), bytes = std::vector<std::byte>(first, first + pattern_size), offset,
                 size] {
    fill_box(held->data, {offset, size, size}, {size, 1, 1}, bytes.data(), bytes.size());
  };
  enqueue_transfer(frame, queue, CL_COMMAND_FILL_BUFFER, effect, wait_list);
}

void migrate(CallFrame& frame, Queue& queue, cl_uint objects, const cl_mem* list,
             cl_mem_migration_flags flags, WaitListArguments wait_list) {
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
  enqueue_transfer(
      frame, queue, CL_COMMAND_MIGRATE_MEM_OBJECTS, [held] {}, wait_list);
}

}  // namespace transfer_functions

void transfer_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueReadBuffer, read);
  SIM_IMPLEMENT(clEnqueueWriteBuffer, write);
  SIM_IMPLEMENT(clEnqueueCopyBuffer, copy);
  SIM_IMPLEMENT(clEnqueueFillBuffer, fill);
  SIM_IMPLEMENT(clEnqueueMigrateMemObjects, migrate);
}

}  // namespace cleave::sim
