// Coarse-grained shared virtual memory. The server has the contents; mapping reads them into memory at the same address here
// (objects/svm_blocks.h), unmapping writes them back if it was mapped for writing.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "remote/client/api/api.h"
#include "remote/client/api/command.h"
#include "remote/client/api/regions.h"
#include "remote/client/objects/info_output.h"
#include "remote/client/objects/svm_blocks.h"
#include "remote/protocol/features.h"

namespace cleave::remote::client {
namespace {

constexpr cl_map_flags kWritingFlags = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
// How often another address is requested from the server if one is in use here.
constexpr unsigned kMaxAttempts = 16;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

bool is_in_svm(const Command& command, const void* pointer, std::size_t size) {
  return client.svm.holds(pointer, size, command.connection());
}

// Whether the bytes begin in a block but are not all in it, or it is another server's.
bool leaves_svm_block(const Command& command, const void* pointer, std::size_t size) {
  return client.svm.find(pointer, 1).has_value() && !is_in_svm(command, pointer, size);
}

// A command that only takes its place in the queue. A marker would not do on an out-of-order queue, where it waits for all
// earlier commands.
cl_int send_placeholder(Command& command, const void* pointer, bool blocking) {
  const auto marker = [](auto& b) { return wire::CreateMarker(b, false); };
  const auto migrate = [&](auto& b) {
    const auto addresses = b.CreateVector(std::vector<std::uint64_t>{address_of(pointer)});
    return wire::CreateSvmMigrate(b, addresses);
  };
  if (command.is_in_order() || pointer == nullptr)
    return blocking ? command.send_blocking(marker) : command.send(marker);
  return blocking ? command.send_blocking(migrate) : command.send(migrate);
}

// Work of this process that belongs between commands of a queue, and the user event that is set when it is done.
struct OrderedSvmCall {
  std::function<void()> work;
  cl_event done;

  static void CL_CALLBACK on_predecessors_complete(cl_event, cl_int status, void* data) {
    const std::unique_ptr<OrderedSvmCall> ordered_call(static_cast<OrderedSvmCall*>(data));
    if (status == CL_COMPLETE) ordered_call->work();
    client::clSetUserEventStatus(ordered_call->done, std::min(status, CL_COMPLETE));
    client::clReleaseEvent(ordered_call->done);
  }
};

// Runs `work` as if it were a command: one placeholder waits for what comes before it, another one for `work`.
cl_int run_in_queue_order(const Command::Call& call, const void* pointer, bool blocking,
                          std::function<void()> work) {
  cl_event predecessors = nullptr;
  Command first({call.queue, call.wait_count, call.wait_list, &predecessors, call.type});
  if (first.error != CL_SUCCESS) return first.error;
  cl_int error = CL_SUCCESS;
  const cl_event done =
      client::clCreateUserEvent(objects::handle_of<cl_context>(first.queue().context), &error);
  if (error != CL_SUCCESS) return error;
  Command last({call.queue, 1, &done, call.event, call.type});
  auto ordered_call = std::make_unique<OrderedSvmCall>(OrderedSvmCall{std::move(work), done});
  error = send_placeholder(first, pointer, false);
  if (error != CL_SUCCESS) return client::clReleaseEvent(done), error;
  client::clRetainEvent(done);
  client::clSetEventCallback(predecessors, CL_COMPLETE, &OrderedSvmCall::on_predecessors_complete,
                             ordered_call.release());
  client::clReleaseEvent(predecessors);
  error = send_placeholder(last, nullptr, blocking);
  client::clReleaseEvent(done);
  return error;
}

// Blocks that the server frees when their command runs; their memory here is released after that.
struct FreedBlocks {
  std::vector<SvmBlock> blocks;

  static void CL_CALLBACK on_complete(cl_event, cl_int, void* data) {
    const std::unique_ptr<FreedBlocks> freed_blocks(static_cast<FreedBlocks*>(data));
    for (const SvmBlock& block : freed_blocks->blocks) client.svm.release_pages(block);
  }
};

cl_int free_in_queue_order(Command& command, cl_uint count, void* const* pointers, cl_event* event) {
  auto freed_blocks = std::make_unique<FreedBlocks>();
  std::vector<std::uint64_t> addresses;
  for (cl_uint i = 0; i < count; ++i) {
    const auto block = client.svm.remove(pointers[i], command.connection());
    if (!block) continue;
    addresses.push_back(block->address);
    freed_blocks->blocks.push_back(*block);
  }
  if (count == 0) command.doubt();  // the driver decides
  const cl_int error =
      command.send([&](auto& b) { return wire::CreateSvmFree(b, b.CreateVector(addresses)); });
  if (error != CL_SUCCESS) return error;
  return client::clSetEventCallback(*event, CL_COMPLETE, &FreedBlocks::on_complete, freed_blocks.release());
}

}  // namespace

void* CL_API_CALL clSVMAlloc(cl_context handle, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  constexpr cl_svm_mem_flags kFineGrain = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
  Object* const context = find(handle);
  if (context == nullptr || (flags & kFineGrain) != 0 || size == 0) return nullptr;
  const ContextState& of = state_of<ContextState>(*context);
  Connection& connection = *of.connection;
  if (!connection.supports(Feature::svm) || size > of.max_allocation) return nullptr;
  void* made = nullptr;
  std::vector<std::uint64_t> in_use;  // freed last, so that the server chooses others
  while (made == nullptr && in_use.size() < kMaxAttempts) {
    PendingRequest pending;
    const cl_int error = connection.call(
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
  Connection& connection = *state_of<ContextState>(*context).connection;
  const auto block = client.svm.remove(pointer, connection);
  if (!block) return;
  const std::vector<std::uint64_t> addresses{block->address};
  connection.post({}, [&](auto& b) { return wire::CreateSvmFree(b, b.CreateVector(addresses)); });
  client.svm.release_pages(*block);
}

cl_int CL_API_CALL clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void* pointers[],
                                    void(CL_CALLBACK* function)(cl_command_queue, cl_uint, void*[], void*),
                                    void* user_data, cl_uint wait_count, const cl_event* wait_list,
                                    cl_event* event) {
  const Command::Call call{queue, wait_count, wait_list, event, CL_COMMAND_SVM_FREE};
  if (find(queue) == nullptr) return CL_INVALID_COMMAND_QUEUE;
  if ((count == 0) != (pointers == nullptr)) return CL_INVALID_VALUE;
  if (function != nullptr) {
    std::vector<void*> list(pointers, pointers + count);
    const void* const some = count == 0 ? nullptr : list.front();
    return run_in_queue_order(call, client.svm.find(some, 1) ? some : nullptr, false,
                              [=]() mutable { function(queue, count, list.data(), user_data); });
  }
  cl_event own = nullptr;
  Command command({queue, wait_count, wait_list, event == nullptr ? &own : event, CL_COMMAND_SVM_FREE});
  if (command.error != CL_SUCCESS) return command.error;
  const cl_int error = free_in_queue_order(command, count, pointers, event == nullptr ? &own : event);
  if (own != nullptr) client::clReleaseEvent(own);
  return error;
}

cl_int CL_API_CALL clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void* target,
                                      const void* source, size_t size, cl_uint wait_count,
                                      const cl_event* wait_list, cl_event* event) {
  const Command::Call call{queue, wait_count, wait_list, event, CL_COMMAND_SVM_MEMCPY};
  Command command(call);
  if (command.error != CL_SUCCESS) return command.error;
  if (target == nullptr || source == nullptr) return CL_INVALID_VALUE;
  const std::uint64_t to = address_of(target);
  const std::uint64_t from = address_of(source);
  if (to < from + size && from < to + size) return CL_MEM_COPY_OVERLAP;
  if (leaves_svm_block(command, target, size) || leaves_svm_block(command, source, size))
    return CL_INVALID_VALUE;
  const bool wait = blocking != CL_FALSE;
  const bool is_target = is_in_svm(command, target, size);
  const bool is_source = is_in_svm(command, source, size);
  if (size == 0) command.doubt();  // the driver decides
  if (size == 0 || (is_target && is_source)) {
    const auto copy = [&](auto& b) { return wire::CreateSvmCopy(b, to, from, size); };
    return wait ? command.send_blocking(copy) : command.send(copy);
  }
  if (is_source) {
    return command.send_read(wait, Box::contiguous(target, size),
                             [&](auto& b) { return wire::CreateSvmRead(b, from, size); });
  }
  if (is_target) {
    const Box box = Box::contiguous(const_cast<void*>(source), size);
    return command.send_write(wait, box, [&](auto& b) { return wire::CreateSvmWrite(b, to, size); });
  }
  return run_in_queue_order(call, nullptr, wait, [=] { std::memcpy(target, source, size); });
}

cl_int CL_API_CALL clEnqueueSVMMemFill(cl_command_queue queue, void* target, const void* pattern,
                                       size_t pattern_size, size_t size, cl_uint wait_count,
                                       const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_SVM_MEMFILL});
  if (command.error != CL_SUCCESS) return command.error;
  if (target == nullptr || !is_pattern(pattern, pattern_size) || size % pattern_size != 0 ||
      address_of(target) % pattern_size != 0 || !is_in_svm(command, target, size))
    return CL_INVALID_VALUE;
  if (size == 0) command.doubt();  // the driver decides
  return command.send([&](auto& b) {
    const auto bytes = b.CreateVector(static_cast<const std::uint8_t*>(pattern), pattern_size);
    return wire::CreateSvmFill(b, address_of(target), bytes, size);
  });
}

cl_int CL_API_CALL clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
                                   void* pointer, size_t size, cl_uint wait_count, const cl_event* wait_list,
                                   cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_SVM_MAP});
  if (command.error != CL_SUCCESS) return command.error;
  const bool invalidates = (flags & CL_MAP_WRITE_INVALIDATE_REGION) != 0;
  if ((flags & ~(CL_MAP_READ | kWritingFlags)) != 0 ||
      (invalidates && flags != CL_MAP_WRITE_INVALIDATE_REGION) || pointer == nullptr || size == 0 ||
      !is_in_svm(command, pointer, size))
    return CL_INVALID_VALUE;
  client.svm.map(pointer, {size, flags});
  const bool wait = blocking != CL_FALSE;
  const cl_int error = invalidates ? send_placeholder(command, pointer, wait)
                                   : command.send_read(wait, Box::contiguous(pointer, size), [&](auto& b) {
                                       return wire::CreateSvmRead(b, address_of(pointer), size);
                                     });
  if (error != CL_SUCCESS) client.svm.unmap(pointer);
  return error;
}

cl_int CL_API_CALL clEnqueueSVMUnmap(cl_command_queue queue, void* pointer, cl_uint wait_count,
                                     const cl_event* wait_list, cl_event* event) {
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_SVM_UNMAP});
  if (command.error != CL_SUCCESS) return command.error;
  if (pointer == nullptr || !is_in_svm(command, pointer, 1)) return CL_INVALID_VALUE;
  const auto mapped = client.svm.unmap(pointer);
  if (!mapped || (mapped->flags & kWritingFlags) == 0) return send_placeholder(command, pointer, false);
  return command.send([&](auto& b) { return wire::CreateSvmWrite(b, address_of(pointer), mapped->size); },
                      Box::contiguous(pointer, mapped->size));
}

cl_int CL_API_CALL clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint count, const void** pointers,
                                          const size_t* sizes, cl_mem_migration_flags flags,
                                          cl_uint wait_count, const cl_event* wait_list, cl_event* event) {
  constexpr cl_mem_migration_flags kKnown =
      CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
  Command command({queue, wait_count, wait_list, event, CL_COMMAND_SVM_MIGRATE_MEM});
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
