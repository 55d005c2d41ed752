// Coarse-grained shared virtual memory: allocated here, its contents copied by commands. Reads and writes are in
// transfers.cpp.
#include <algorithm>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/session/enqueue.h"

namespace cleave::remote::server {

void handle(SessionContext& session, const wire::Command& command, const wire::SvmAlloc& message) {
  if (command.request() == 0) return session.report_violation("SvmAlloc without a request for an answer");
  const auto context = session.objects.handle<cl_context>(message.context());
  if (context == nullptr) return session.reply(command, 0, CL_INVALID_CONTEXT);
  constexpr cl_svm_mem_flags kFineGrain = CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS;
  if ((message.flags() & kFineGrain) != 0) return session.reply(command, 0, CL_INVALID_VALUE);
  if (session.is_full() || session.reserve_memory(message.size()) != CL_SUCCESS)
    return session.reply(command, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  void* const memory = session.cl.clSVMAlloc(context, message.flags(), message.size(), message.alignment());
  if (memory == nullptr) {
    session.memory.release(message.size());
    return session.reply(command, 0, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  const auto address = reinterpret_cast<std::uint64_t>(memory);
  session.svm.add(address, {message.size(),
                            opencl::hold(session.cl.clRetainContext, session.cl.clReleaseContext, context)});
  session.answers.add(wire::CreateAnswer(session.answers.builder(), command.request(), CL_SUCCESS, address));
}

namespace {

// Removes the blocks that start at these pointers. `by_driver`: a command frees them.
void free_svm(SessionContext& session, const std::vector<void*>& pointers, bool by_driver) {
  for (void* const pointer : pointers) {
    const auto address = reinterpret_cast<std::uint64_t>(pointer);
    const SvmBlocks::Block block = session.svm.remove(address);
    if (!by_driver) session.cl.clSVMFree(block.context.get(), pointer);
    session.memory.release(block.size);
  }
}

}  // namespace

void handle(SessionContext& session, const wire::Command& command, const wire::SvmFree& message) {
  std::vector<void*> pointers;
  for (const std::uint64_t address : numbers(message.addresses())) {
    const bool twice = std::find(pointers.begin(), pointers.end(), svm_pointer(address)) != pointers.end();
    if (session.svm.starts_at(address) && !twice) pointers.push_back(svm_pointer(address));
  }
  if (command.queue() == 0) {
    free_svm(session, pointers, false);
    return session.reply(command, 0, CL_SUCCESS);
  }
  // Ends when all earlier commands have ended, which a marker shows where there is nothing to free.
  bool taken = false;
  enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
    const bool is_wanted = is_empty(message.addresses());  // the driver decides what that is
    if (pointers.empty() && !is_wanted) return session.cl.clEnqueueMarkerWithWaitList(queue, wait...);
    const cl_int error =
        session.cl.clEnqueueSVMFree(queue, static_cast<cl_uint>(pointers.size()),
                                    pointers.empty() ? nullptr : pointers.data(), nullptr, nullptr, wait...);
    taken = error == CL_SUCCESS;
    return error;
  });
  if (taken) free_svm(session, pointers, true);
}

void handle(SessionContext& session, const wire::Command& command, const wire::SvmCopy& message) {
  // Of no bytes one may be the client's own memory, and for the driver anything. Whether that is an error is for it to say.
  static std::byte nothing{};
  const auto pointer = [&](std::uint64_t address) {
    return session.svm.contains(address, message.size()) ? svm_pointer(address) : &nothing;
  };
  if (message.size() != 0 && (!session.svm.contains(message.target(), message.size()) ||
                              !session.svm.contains(message.source(), message.size()))) {
    return fail_command(session, command, CL_INVALID_VALUE);
  }
  enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueSVMMemcpy(queue, CL_FALSE, pointer(message.target()),
                                         pointer(message.source()), message.size(), wait...);
  });
}

void handle(SessionContext& session, const wire::Command& command, const wire::SvmFill& message) {
  const auto* const pattern = message.pattern();
  if (!session.svm.contains(message.target(), message.size()) || pattern == nullptr ||
      pattern->size() > kMaxPattern) {
    return fail_command(session, command, CL_INVALID_VALUE);
  }
  enqueue(session, command, [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueSVMMemFill(queue, svm_pointer(message.target()), pattern->data(),
                                          pattern->size(), message.size(), wait...);
  });
}

void handle(SessionContext& session, const wire::Command& command, const wire::SvmMigrate& message) {
  const auto addresses = numbers(message.addresses());
  const auto sizes = numbers(message.sizes());
  if (addresses.empty() || (!sizes.empty() && sizes.size() != addresses.size())) {
    return fail_command(session, command, CL_INVALID_VALUE);
  }
  struct Arrays {
    std::vector<const void*> pointers;
    std::vector<std::size_t> lengths;
  };
  const auto kept = std::make_shared<Arrays>();
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t size = sizes.empty() ? 0 : sizes[i];
    if (!session.svm.contains(addresses[i], size)) return fail_command(session, command, CL_INVALID_VALUE);
    kept->pointers.push_back(svm_pointer(addresses[i]));
    kept->lengths.push_back(size);
  }
  const auto call = [&](cl_command_queue queue, auto... wait) {
    return session.cl.clEnqueueSVMMigrateMem(
        queue, static_cast<cl_uint>(kept->pointers.size()), kept->pointers.data(),
        sizes.empty() ? nullptr : kept->lengths.data(), message.flags(), wait...);
  };
  Pending pending;
  pending.kept = kept;
  pending.overhead = kept->pointers.size() * kOverheadOfListed;
  enqueue(session, command, call, std::move(pending));
}

}  // namespace cleave::remote::server
