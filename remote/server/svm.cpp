// Shared virtual memory, coarse-grained: allocated here, its contents moved by copies. Reads and writes are
// in transfers.cpp.
#include <array>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/address.h"
#include "remote/server/session_commands.h"

namespace cleave::remote::server {

void Session::handle(const wire::Command& command, const wire::SvmAlloc& message) {
  if (command.request() == 0) return violate("memory whose address nobody wants to know");
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return tell(command, 0, CL_INVALID_CONTEXT);
  constexpr cl_svm_mem_flags kFineGrain = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
  if ((message.flags() & kFineGrain) != 0) return tell(command, 0, CL_INVALID_VALUE);
  if (take_memory(message.size()) != CL_SUCCESS) return tell(command, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  void* const memory = cl_.clSVMAlloc(context, message.flags(), message.size(), message.alignment());
  if (memory == nullptr) {
    memory_->fetch_sub(message.size());
    return tell(command, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  svm_[address] = message.size();
  cl_.clRetainContext(context);
  svm_contexts_[address] = context;
  answers_.add(wire::CreateAnswer(answers_.builder(), command.request(), CL_SUCCESS, address));
}

void Session::handle(const wire::Command& command, const wire::SvmFree& message) {
  // With a queue it is freed in its turn: when all before it has ended, which a marker tells.
  const auto addresses = numbers(message.addresses());
  std::vector<void*> pointers;
  for (const std::uint64_t address : addresses) {
    const auto block = svm_.find(address);
    if (block == svm_.end()) continue;
    memory_->fetch_sub(block->second);
    svm_.erase(block);
    pointers.push_back(at(address));
  }
  const auto release_contexts = [&] {
    for (void* const pointer : pointers) {
      const auto context = svm_contexts_.find(reinterpret_cast<std::uint64_t>(pointer));
      cl_.clReleaseContext(context->second);
      svm_contexts_.erase(context);
    }
  };
  if (command.queue() != 0) {
    if (pointers.empty()) {
      return enqueue(command,
                     [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
                       return cl_.clEnqueueMarkerWithWaitList(queue, count, waits, event);
                     });
    }
    enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
      return cl_.clEnqueueSVMFree(queue, static_cast<cl_uint>(pointers.size()), pointers.data(), nullptr,
                                  nullptr, count, waits, event);
    });
    return release_contexts();
  }
  for (void* const pointer : pointers) {
    cl_.clSVMFree(svm_contexts_.at(reinterpret_cast<std::uint64_t>(pointer)), pointer);
  }
  release_contexts();
  tell(command, 0, CL_SUCCESS);
}

void Session::handle(const wire::Command& command, const wire::SvmCopy& message) {
  if (!is_svm(message.target(), message.size()) || !is_svm(message.source(), message.size())) {
    return fail(command, CL_INVALID_VALUE);
  }
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueSVMMemcpy(queue, CL_FALSE, at(message.target()), at(message.source()), message.size(),
                                  count, waits, event);
  });
}

void Session::handle(const wire::Command& command, const wire::SvmFill& message) {
  const auto* const pattern = message.pattern();
  if (!is_svm(message.target(), message.size()) || pattern == nullptr || pattern->size() > kMostPattern) {
    return fail(command, CL_INVALID_VALUE);
  }
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueSVMMemFill(queue, at(message.target()), pattern->data(), pattern->size(),
                                   message.size(), count, waits, event);
  });
}

void Session::handle(const wire::Command& command, const wire::SvmMigrate& message) {
  const auto addresses = numbers(message.addresses());
  const auto sizes = numbers(message.sizes());
  if (addresses.empty() || (!sizes.empty() && sizes.size() != addresses.size())) {
    return fail(command, CL_INVALID_VALUE);
  }
  std::vector<const void*> pointers;
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t size = sizes.empty() ? 0 : sizes[i];
    if (!is_svm(addresses[i], size)) return fail(command, CL_INVALID_VALUE);
    pointers.push_back(at(addresses[i]));
    lengths.push_back(size);
  }
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueSVMMigrateMem(queue, static_cast<cl_uint>(pointers.size()), pointers.data(),
                                      sizes.empty() ? nullptr : lengths.data(), message.flags(), count, waits,
                                      event);
  });
}

}  // namespace cleave::remote::server
