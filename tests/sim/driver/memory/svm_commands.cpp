// Commands on shared virtual memory.
#include <cstring>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"
#include "tests/sim/driver/memory/byte_box.h"

namespace cleave::sim {
namespace svm_command_functions {

using FreeNotify = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void*[], void*);

// With a function to free them the program does so itself, when the command runs.
void free(CallFrame& frame, Queue& queue, cl_uint pointers, void* list[], FreeNotify notify, void* user_data,
          WaitListArguments wait_list) {
  require((pointers == 0) == (list == nullptr), CL_INVALID_VALUE);
  auto effect = [&state = frame.state, held = shared(queue), copy = std::vector<void*>(list, list + pointers),
                 notify, user_data]() mutable {
    if (notify == nullptr) {
      for (void* pointer : copy) state.svm.erase(static_cast<std::byte*>(pointer));
      return;
    }
    state.queue_callback([held, copy, notify, user_data]() mutable {
      notify(handle_of(held), static_cast<cl_uint>(copy.size()), copy.data(), user_data);
    });
  };
  enqueue_transfer(frame, queue, CL_COMMAND_SVM_FREE, effect, wait_list);
}

void copy(CallFrame& frame, Queue& queue, cl_bool blocking, void* to, const void* from, std::size_t size,
          WaitListArguments wait_list) {
  require(to != nullptr && from != nullptr, CL_INVALID_VALUE);
  const auto* source = static_cast<const std::byte*>(from);
  const auto* target = static_cast<const std::byte*>(to);
  require(source + size <= target || target + size <= source, CL_MEM_COPY_OVERLAP);
  auto effect = [to, from, size] { std::memcpy(to, from, size); };
  enqueue_transfer(frame, queue, CL_COMMAND_SVM_MEMCPY, effect, wait_list, blocking);
}

void fill(CallFrame& frame, Queue& queue, void* to, const void* pattern, std::size_t pattern_size,
          std::size_t size, WaitListArguments wait_list) {
  const bool power_of_two = pattern_size > 0 && (pattern_size & (pattern_size - 1)) == 0;
  require(to != nullptr && pattern != nullptr && power_of_two && pattern_size <= 128, CL_INVALID_VALUE);
  require(size % pattern_size == 0, CL_INVALID_VALUE);
  const auto* first = static_cast<const std::byte*>(pattern);
  auto effect = [to, size, bytes = std::vector<std::byte>(first, first + pattern_size)] {
    fill_box(static_cast<std::byte*>(to), {0, size, size}, {size, 1, 1}, bytes.data(), bytes.size());
  };
  enqueue_transfer(frame, queue, CL_COMMAND_SVM_MEMFILL, effect, wait_list);
}

void map(CallFrame& frame, Queue& queue, cl_bool blocking, cl_map_flags, void* pointer, std::size_t size,
         WaitListArguments wait_list) {
  require(pointer != nullptr && size > 0, CL_INVALID_VALUE);
  enqueue_transfer(frame, queue, CL_COMMAND_SVM_MAP, nullptr, wait_list, blocking);
}

void unmap(CallFrame& frame, Queue& queue, void* pointer, WaitListArguments wait_list) {
  require(pointer != nullptr, CL_INVALID_VALUE);
  enqueue_transfer(frame, queue, CL_COMMAND_SVM_UNMAP, nullptr, wait_list);
}

void migrate(CallFrame& frame, Queue& queue, cl_uint pointers, const void** list, const std::size_t*,
             cl_mem_migration_flags, WaitListArguments wait_list) {
  require(pointers > 0 && list != nullptr, CL_INVALID_VALUE);
  enqueue_transfer(frame, queue, CL_COMMAND_SVM_MIGRATE_MEM, nullptr, wait_list);
}

}  // namespace svm_command_functions

void svm_command_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clEnqueueSVMFree, free);
  SIM_IMPLEMENT(clEnqueueSVMMemcpy, copy);
  SIM_IMPLEMENT(clEnqueueSVMMemFill, fill);
  SIM_IMPLEMENT(clEnqueueSVMMap, map);
  SIM_IMPLEMENT(clEnqueueSVMUnmap, unmap);
  SIM_IMPLEMENT(clEnqueueSVMMigrateMem, migrate);
}

}  // namespace cleave::sim
