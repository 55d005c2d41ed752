// Coarse-grained shared virtual memory. The server has the contents; mapping reads them into the program's
// memory at the same address (svm_blocks.h), unmapping writes them back if it was mapped for writing.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "remote/client/api.h"
#include "remote/client/command.h"
#include "remote/client/info.h"
#include "remote/client/svm_blocks.h"
#include "remote/protocol/features.h"
#include "remote/protocol/limits.h"

namespace cleave::remote::client {
namespace {

constexpr cl_map_flags kWriting = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
// How often the server is asked for another address where one is in use here.
constexpr unsigned kMostTries = 16;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool is_in_svm(const Command& command, const void* pointer, std::size_t size) {
  return client.svm.holds(pointer, size, command.connection());
}

// It begins in shared memory and leads out of it, or is another server's.
bool leads_out(const Command& command, const void* pointer, std::size_t size) {
  return client.svm.find(pointer, 1).has_value() && !is_in_svm(command, pointer, size);
}

// A command that only takes its place. On a queue out of order a marker would wait for all the others.
cl_int send_place(Command& command, const void* pointer, bool blocking) {
  const bool in_order = (command.queue().properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  const auto marker = [](auto& b) { return wire::CreateMarker(b, false); };
  const auto migrate = [&](auto& b) {
    const auto addresses = b.CreateVector(std::vector<std::uint64_t>{address_of(pointer)});
    return wire::CreateSvmMigrate(b, addresses);
  };
  if (in_order || pointer == nullptr) return blocking ? command.send_blocking(marker) : command.send(marker);
  return blocking ? command.send_blocking(migrate) : command.send(migrate);
}

// What this process has to do when it is a command's turn, and the user event that says that it is done.
struct Turn {
  std::function<void()> work;
  cl_event done;

  static void CL_CALLBACK has_come(cl_event, cl_int status, void* data) {
    const std::unique_ptr<Turn> turn(static_cast<Turn*>(data));
    if (status == CL_COMPLETE) turn->work();
    client::clSetUserEventStatus(turn->done, std::min(status, CL_COMPLETE));
    client::clReleaseEvent(turn->done);
  }
};

// A command of which `work` is the whole: one takes its place, another one ends when `work` is done.
cl_int do_in_turn(const Command::Call& call, const void* pointer, bool blocking, std::function<void()> work) {
  cl_event come = nullptr;
  Command first({call.queue, call.waits, call.wait_list, &come, call.type});
  if (first.error != CL_SUCCESS) return first.error;
  cl_int error = CL_SUCCESS;
  const cl_event done =
      client::clCreateUserEvent(objects::handle_of<cl_context>(first.queue().context), &error);
  if (error != CL_SUCCESS) return error;
  Command last({call.queue, 1, &done, call.event, call.type});
  auto turn = std::make_unique<Turn>(Turn{std::move(work), done});
  error = send_place(first, pointer, false);
  if (error != CL_SUCCESS) return client::clReleaseEvent(done), error;
  client::clRetainEvent(done);
  client::clSetEventCallback(come, CL_COMPLETE, &Turn::has_come, turn.release());
  client::clReleaseEvent(come);
  error = send_place(last, nullptr, blocking);
  client::clReleaseEvent(done);
  return error;
}

// The memory of blocks that the server frees in their turn.
struct Freed {
  std::vector<SvmBlock> blocks;

  static void CL_CALLBACK is_over(cl_event, cl_int, void* data) {
    const std::unique_ptr<Freed> freed(static_cast<Freed*>(data));
    for (const SvmBlock& block : freed->blocks) client.svm.forget(block);
  }
};

cl_int free_in_turn(Command& command, cl_uint count, void* const* pointers, cl_event* event) {
  auto freed = std::make_unique<Freed>();
  std::vector<std::uint64_t> addresses;
  for (cl_uint i = 0; i < count; ++i) {
    const auto block = client.svm.take(pointers[i], command.connection());
    if (!block) continue;
    addresses.push_back(block->address);
    freed->blocks.push_back(*block);
  }
  const cl_int error =
      command.send([&](auto& b) { return wire::CreateSvmFree(b, b.CreateVector(addresses)); });
  if (error != CL_SUCCESS) return error;
  return client::clSetEventCallback(*event, CL_COMPLETE, &Freed::is_over, freed.release());
}

bool is_pattern(const void* pattern, std::size_t size) {
  return pattern != nullptr && size != 0 && size <= kMostPattern && (size & (size - 1)) == 0;
}

}  // namespace

void* CL_API_CALL clSVMAlloc(cl_context handle, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  constexpr cl_svm_mem_flags kKnown = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;
  Object* const context = find(handle);
  if (context == nullptr || (flags & ~kKnown) != 0 || size == 0) return nullptr;
  const ContextBody& of = body_of<ContextBody>(*context);
  Connection& connection = *of.connection;
  if ((connection.welcome().features() & bit(Feature::svm)) == 0 || size > of.max_allocation) return nullptr;
  void* made = nullptr;
  std::vector<std::uint64_t> in_use;  // kept until the end, so that the server gives others
  while (made == nullptr && in_use.size() < kMostTries) {
    Pending pending;
    const cl_int error = connection.ask(
        {}, pending, [&](auto& b) { return wire::CreateSvmAlloc(b, of.id, flags, size, alignment); });
    if (error != CL_SUCCESS) break;
    const bool is_aligned = alignment == 0 || pending.value % alignment == 0;
    if (is_aligned &&
        client.svm.add({static_cast<std::uintptr_t>(pending.value), size, &connection, of.id})) {
      made = reinterpret_cast<void*>(pending.value);  // NOLINT(performance-no-int-to-ptr)
    } else {
      in_use.push_back(pending.value);
    }
  }
  if (!in_use.empty())
    connection.post({}, [&](auto& b) { return wire::CreateSvmFree(b, b.CreateVector(in_use)); });
  return made;
}

void CL_API_CALL clSVMFree(cl_context handle, void* pointer) {
  const Object* const context = find(handle);
  if (context == nullptr || pointer == nullptr) return;
  Connection& connection = *body_of<ContextBody>(*context).connection;
  const auto block = client.svm.take(pointer, connection);
  if (!block) return;
  const std::vector<std::uint64_t> addresses{block->address};
  connection.post({}, [&](auto& b) { return wire::CreateSvmFree(b, b.CreateVector(addresses)); });
  client.svm.forget(*block);
}

cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void* pointers[],
                                    void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void*[], void*),
                                    void* user_data, cl_uint waits, const cl_event* wait_list,
                                    cl_event* event) {
  const Command::Call call{queue, waits, wait_list, event, CL_COMMAND_SVM_FREE};
  if (find(queue) == nullptr) return CL_INVALID_COMMAND_QUEUE;
  if ((count == 0) != (pointers == nullptr)) return CL_INVALID_VALUE;
  if (function != nullptr) {
    std::vector<void*> list(pointers, pointers + count);
    const void* const some = count == 0 ? nullptr : list.front();
    return do_in_turn(call, client.svm.find(some, 1) ? some : nullptr, false,
                      [=]() mutable { function(queue, count, list.data(), user_data); });
  }
  cl_event own = nullptr;
  Command command({queue, waits, wait_list, event == nullptr ? &own : event, CL_COMMAND_SVM_FREE});
  if (command.error != CL_SUCCESS) return command.error;
  const cl_int error = free_in_turn(command, count, pointers, event == nullptr ? &own : event);
  if (own != nullptr) client::clReleaseEvent(own);
  return error;
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void* target,
                                      const void* source, size_t size, cl_uint waits,
                                      const cl_event* wait_list, cl_event* event) {
  const Command::Call call{queue, waits, wait_list, event, CL_COMMAND_SVM_MEMCPY};
  Command command(call);
  if (command.error != CL_SUCCESS) return command.error;
  if (target == nullptr || source == nullptr) return CL_INVALID_VALUE;
  if (leads_out(command, target, size) || leads_out(command, source, size)) return CL_INVALID_VALUE;
  const std::uint64_t to = address_of(target);
  const std::uint64_t from = address_of(source);
  if (to < from + size && from < to + size) return CL_MEM_COPY_OVERLAP;
  const bool wait = blocking != CL_FALSE;
  const bool is_target = is_in_svm(command, target, size);
  const bool is_source = is_in_svm(command, source, size);
  if (size == 0) return send_place(command, is_target ? target : nullptr, wait);
  if (is_target && is_source) {
    const auto copy = [&](auto& b) { return wire::CreateSvmCopy(b, to, from, size); };
    return wait ? command.send_blocking(copy) : command.send(copy);
  }
  if (is_source) {
    return command.send_read(wait, Box::line(target, size),
                             [&](auto& b) { return wire::CreateSvmRead(b, from, size); });
  }
  if (is_target) {
    const Box box = Box::line(const_cast<void*>(source), size);
    const auto write = [&](auto& b) { return wire::CreateSvmWrite(b, to, size); };
    return wait ? command.send_blocking(write, box) : command.send(write, box);
  }
  return do_in_turn(call, nullptr, wait, [=] { std::memcpy(target, source, size); });
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue queue, void* target, const void* pattern,
                                       size_t pattern_size, size_t size, cl_uint waits,
                                       const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_SVM_MEMFILL});
  if (command.error != CL_SUCCESS) return command.error;
  if (target == nullptr || !is_pattern(pattern, pattern_size) || size % pattern_size != 0 ||
      address_of(target) % pattern_size != 0 || !is_in_svm(command, target, size))
    return CL_INVALID_VALUE;
  if (size == 0) return send_place(command, target, false);
  return command.send([&](auto& b) {
    const auto bytes = b.CreateVector(static_cast<const std::uint8_t*>(pattern), pattern_size);
    return wire::CreateSvmFill(b, address_of(target), bytes, size);
  });
}

cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                   void* pointer, size_t size, cl_uint waits, const cl_event* wait_list,
                                   cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_SVM_MAP});
  if (command.error != CL_SUCCESS) return command.error;
  const bool invalidates = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  if ((flags & ~(CL_MAP_READ | kWriting)) != 0 || (invalidates && flags != CL_MAP_WRITE_INVALIDATE_REGION) ||
      pointer == nullptr || size == 0 || !is_in_svm(command, pointer, size))
    return CL_INVALID_VALUE;
  client.svm.map(pointer, {size, flags});
  const bool wait = blocking != CL_FALSE;
  const cl_int error = invalidates ? send_place(command, pointer, wait)
                                   : command.send_read(wait, Box::line(pointer, size), [&](auto& b) {
                                       return wire::CreateSvmRead(b, address_of(pointer), size);
                                     });
  if (error != CL_SUCCESS) client.svm.unmap(pointer);
  return error;
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue queue, void* pointer, cl_uint waits,
                                     const cl_event* wait_list, cl_event* event) {
  Command command({queue, waits, wait_list, event, CL_COMMAND_SVM_UNMAP});
  if (command.error != CL_SUCCESS) return command.error;
  if (pointer == nullptr || !is_in_svm(command, pointer, 1)) return CL_INVALID_VALUE;
  const auto mapped = client.svm.unmap(pointer);
  if (!mapped || (mapped->flags & kWriting) == 0) return send_place(command, pointer, false);
  return command.send([&](auto& b) { return wire::CreateSvmWrite(b, address_of(pointer), mapped->size); },
                      Box::line(pointer, mapped->size));
}

cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint count, const void** pointers,
                                          const size_t* sizes, cl_mem_migration_flags flags, cl_uint waits,
                                          const cl_event* wait_list, cl_event* event) {
  constexpr cl_mem_migration_flags kKnown =
      CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
  Command command({queue, waits, wait_list, event, CL_COMMAND_SVM_MIGRATE_MEM});
  if (command.error != CL_SUCCESS) return command.error;
  if (count == 0 || pointers == nullptr || (flags & ~kKnown) != 0) return CL_INVALID_VALUE;
  std::vector<std::uint64_t> addresses;
  std::vector<std::uint64_t> lengths;
  for (cl_uint i = 0; i < count; ++i) {
    const std::size_t size = sizes == nullptr ? 0 : sizes[i];
    if (pointers[i] == nullptr || !is_in_svm(command, pointers[i], size)) return CL_INVALID_VALUE;
    addresses.push_back(address_of(pointers[i]));
    if (sizes != nullptr) lengths.push_back(size);
  }
  return command.send([&](auto& b) {
    const auto list = b.CreateVector(addresses);
    return wire::CreateSvmMigrate(b, list, b.CreateVector(lengths), flags);
  });
}

}  // namespace cleave::remote::client
