// Shared virtual memory, coarse-grained: allocated here, its contents moved by copies. Reads and writes are
// in transfers.cpp.
#include <algorithm>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/session/enqueue.h"
#include "remote/server/session/svm_address.h"

namespace cleave::remote::server {

void ClientSession::handle(const wire::Command& command, const wire::SvmAlloc& message) {
  if (command.request() == 0) return report_violation("memory whose address nobody wants to know");
  const auto context = objects_.handle<cl_context>(message.context());
  if (context == nullptr) return reply(command, 0, CL_INVALID_CONTEXT);
  constexpr cl_svm_mem_flags kFineGrain = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
  if ((message.flags() & kFineGrain) != 0) return reply(command, 0, CL_INVALID_VALUE);
  if (reserve_memory(message.size()) != CL_SUCCESS)
    return reply(command, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  void* const memory = cl_.clSVMAlloc(context, message.flags(), message.size(), message.alignment());
  if (memory == nullptr) {
    memory_->fetch_sub(message.size());
    return reply(command, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  svm_[address] = message.size();
  cl_.clRetainContext(context);
  svm_contexts_[address] = context;
  answers_.add(wire::CreateAnswer(answers_.builder(), command.request(), CL_SUCCESS, address));
}

// They are the client's no more. `by_driver`: a command frees them.
void ClientSession::free_svm(const std::vector<void*>& pointers, bool by_driver) {
  for (void* const pointer : pointers) {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    const auto context = svm_contexts_.find(address);
    if (!by_driver) cl_.clSVMFree(context->second, pointer);
    cl_.clReleaseContext(context->second);
    svm_contexts_.erase(context);
    memory_->fetch_sub(svm_.at(address));
    svm_.erase(address);
  }
}

void ClientSession::handle(const wire::Command& command, const wire::SvmFree& message) {
  std::vector<void*> pointers;
  for (const std::uint64_t address : numbers(message.addresses())) {
    const bool twice = std::find(pointers.begin(), pointers.end(), at(address)) != pointers.end();
    if (svm_.count(address) != 0 && !twice) pointers.push_back(at(address));
  }
  if (command.queue() == 0) {
    free_svm(pointers, false);
    return reply(command, 0, CL_SUCCESS);
  }
  // In its turn: when all before it has ended, which a marker tells where there is nothing to free.
  bool taken = false;
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    if (pointers.empty()) return cl_.clEnqueueMarkerWithWaitList(queue, count, waits, event);
    const cl_int error = cl_.clEnqueueSVMFree(queue, static_cast<cl_uint>(pointers.size()), pointers.data(),
                                              nullptr, nullptr, count, waits, event);
    taken = error == CL_SUCCESS;
    return error;
  });
  if (taken) free_svm(pointers, true);
}

// The memory has been counted when it was allocated.
void ClientSession::create_over_svm(const wire::Command& command, const wire::CreateBuffer& message,
                                    cl_context context) {
  if (command.payload() > 0) return report_violation("contents for shared virtual memory");
  if (message.size() == 0 || !is_svm(message.svm(), message.size()))
    return reply(command, message.id(), CL_INVALID_HOST_PTR);
  constexpr cl_mem_flags kOtherMemory = CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR;
  const cl_mem_flags flags = (message.flags() & ~kOtherMemory) | CL_MEM_USE_HOST_PTR;
  cl_int error = CL_SUCCESS;
  const cl_mem buffer = cl_.clCreateBuffer(context, flags, message.size(), at(message.svm()), &error);
  register_created(command, message.id(), {Kind::memory, buffer, CL_SUCCESS, message.size(), {}, {}}, error);
}

void ClientSession::handle(const wire::Command& command, const wire::SvmCopy& message) {
  if (!is_svm(message.target(), message.size()) || !is_svm(message.source(), message.size())) {
    return fail_command(command, CL_INVALID_VALUE);
  }
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueSVMMemcpy(queue, CL_FALSE, at(message.target()), at(message.source()), message.size(),
                                  count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::SvmFill& message) {
  const auto* const pattern = message.pattern();
  if (!is_svm(message.target(), message.size()) || pattern == nullptr || pattern->size() > kMaxPattern) {
    return fail_command(command, CL_INVALID_VALUE);
  }
  enqueue(command, [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueSVMMemFill(queue, at(message.target()), pattern->data(), pattern->size(),
                                   message.size(), count, waits, event);
  });
}

void ClientSession::handle(const wire::Command& command, const wire::SvmMigrate& message) {
  const auto addresses = numbers(message.addresses());
  const auto sizes = numbers(message.sizes());
  if (addresses.empty() || (!sizes.empty() && sizes.size() != addresses.size())) {
    return fail_command(command, CL_INVALID_VALUE);
  }
  struct Arrays {
    std::vector<const void*> pointers;
    std::vector<std::size_t> lengths;
  };
  const auto kept = std::make_shared<Arrays>();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t size = sizes.empty() ? 0 : sizes[i];
    if (!is_svm(addresses[i], size)) return fail_command(command, CL_INVALID_VALUE);
    kept->pointers.push_back(at(addresses[i]));
    kept->lengths.push_back(size);
  }
  const auto call = [&](cl_command_queue queue, cl_uint count, const cl_event* waits, cl_event* event) {
    return cl_.clEnqueueSVMMigrateMem(queue, static_cast<cl_uint>(kept->pointers.size()),
                                      kept->pointers.data(), sizes.empty() ? nullptr : kept->lengths.data(),
                                      message.flags(), count, waits, event);
  };
  Pending pending;
  pending.arrays = kept;
  enqueue(command, call, std::move(pending));
}

}  // namespace cleave::remote::server
