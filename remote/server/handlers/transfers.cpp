// Reads and writes: data between the client's memory and the server's memory objects or SVM.
//
// Large transfers on an in-order queue are sliced: while the driver copies one slice, the socket carries the next.
#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "remote/protocol/limits.h"
#include "remote/server/handlers/handlers.h"
#include "remote/server/handlers/ring_transfers.h"
#include "remote/server/handlers/triple.h"
#include "remote/server/session/info_result.h"

namespace cleave::remote::server {
namespace {

constexpr std::uint64_t kSlice = 1U << 20U;  // bytes

struct Transfer {
  const wire::Command& command;
  const Enqueue& to;
  bool is_read = false;
  std::uint64_t size = 0;  // bytes
  std::uint64_t step = 0;  // bytes of one slice; `size` for a transfer that is not sliced
};

// Bytes on a queue whose transfers of contiguous bytes may be sliced.
Transfer sliced(const wire::Command& command, const Enqueue& to, bool is_read, std::uint64_t size) {
  return {command, to, is_read, size, to.queue->info().in_order ? kSlice : size};
}

// The bytes of a region without gaps. Empty: more than a frame may carry.
std::optional<std::uint64_t> region_bytes(const Triple& region, std::uint64_t element) {
  std::uint64_t all = element;
  for (const std::uint64_t one : region) {
    if (__builtin_mul_overflow(all, one, &all) || all > kMaxPayload) return std::nullopt;
  }
  return all;
}

bool is_within(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
  return offset <= whole && size <= whole - offset;
}

// Has the driver pin what the client shares, for the queue's context. Smaller transfers would not be worth the time.
void pin_for(SessionContext& session, Queue& queue) {
  if (!queue.has_pinned()) queue.keep_pinned(session.pinned.pin_for(queue.handle()));
}

// The data lies, or is to be put, in memory that the client shares.
template <typename Copy>
void transfer_in_place(SessionContext& session, const Transfer& transfer, Copy copy) {
  const wire::Shared& place = *transfer.command.shared();
  std::byte* const data =
      place.size() == transfer.size ? session.shared->at(place.offset(), transfer.size) : nullptr;
  if (data == nullptr) return session.report_violation("range outside of the shared memory");
  Pending pending;
  if (transfer.size > kSlice) {
    pin_for(session, *transfer.to.queue);
    pending.kept = session.pinned.pin_place(transfer.to.queue->handle(), place.offset(), place.size());
  }
  cl_event event = nullptr;
  const cl_int error = copy(data, 0, transfer.size, transfer.to, &event);
  if (error != CL_SUCCESS) return fail_command(session, transfer.command, error);
  pending.is_read = transfer.is_read;
  finish_enqueue(session, transfer.command, transfer.to, event, std::move(pending));
}

// Memory for a slice of a read. Reads from out-of-order queues end in the driver's callbacks, where nothing can be unpinned.
Block take_block(SessionContext& session, const Transfer& transfer, std::uint64_t size) {
  Queue& queue = *transfer.to.queue;
  if (size == transfer.size && queue.info().in_order) {
    if (Block pinned = session.pinned_reads.take(queue.handle(), queue.small_reads(), size)) return pinned;
  }
  return session.staging.take(size);
}

// Memory for all slices of a read: a read is not started that could not be finished. Empty: there is not enough.
std::vector<Block> take_blocks(SessionContext& session, const Transfer& transfer) {
  std::vector<Block> blocks;
  for (std::uint64_t at = 0; at < transfer.size; at += transfer.step) {
    blocks.push_back(take_block(session, transfer, std::min(transfer.step, transfer.size - at)));
    if (!blocks.back()) return {};
  }
  return blocks;
}

// The data is the payload of the command, or of the answer.
template <typename Copy>
void transfer_by_payload(SessionContext& session, const Transfer& transfer, Copy copy) {
  const auto& [command, to, is_read, size, step] = transfer;
  std::vector<Block> blocks;
  if (is_read) {
    blocks = take_blocks(session, transfer);
    if (blocks.empty()) return fail_command(session, command, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  } else if (command.payload() != size) {
    return session.report_violation("payload size does not match");
  }
  EventReference first;
  for (std::uint64_t at = 0; at < size; at += step) {
    const std::uint64_t now = std::min(step, size - at);
    Pending pending;
    pending.is_read = is_read;
    pending.more = at + now < size;
    if (is_read) {
      pending.at = at;
      pending.data = std::move(blocks[at / step]);
    } else {
      pending.bytes = now;
      pending.data = session.staging.take(now);
      if (!pending.data) return fail_command(session, command, CL_MEM_OBJECT_ALLOCATION_FAILURE, at);
      if (!session.read_payload(pending.data.bytes())) return;
    }
    cl_event event = nullptr;
    const cl_int error = copy(pending.data.data(), at, now, to, &event);
    // Earlier slices of a read may have been sent already and cannot be taken back.
    if (error != CL_SUCCESS && is_read && at > 0)
      return session.report_violation("read abandoned by the driver halfway");
    if (error != CL_SUCCESS) return fail_command(session, command, error, at);
    finish_enqueue_slice(session, command, to, event, std::move(pending), first);
  }
}

// Whether a transfer of no bytes is an error is for the driver to say. `call` as for run().
template <typename Call>
void transfer_nothing(SessionContext& session, const Transfer& transfer, Call call) {
  const auto& [command, to, is_read, size, step] = transfer;
  if (is_read && command.request() == 0)
    return session.report_violation("read without a request for an answer");
  if (command.payload() != 0 || command.shared() != nullptr || command.ring() != nullptr)
    return session.report_violation("data for a transfer of no bytes");
  static std::byte nothing{};
  cl_event event = nullptr;
  const cl_int error = call(to.queue->handle(), &nothing, 0, 0, to.count(), to.list(), &event);
  if (error != CL_SUCCESS) return fail_command(session, command, error);
  Pending pending;
  pending.is_read = is_read;
  finish_enqueue(session, command, to, event, std::move(pending));
}

// `call(queue, memory, at, size, number of waits, waits, event)` enqueues the driver's copy of a slice.
template <typename Call>
void run(SessionContext& session, const Transfer& transfer, Call call) {
  if (transfer.size == 0) return transfer_nothing(session, transfer, call);
  assert(transfer.step > 0);
  const auto copy = [call](std::byte* memory, std::uint64_t at, std::uint64_t size, const Enqueue& to,
                           cl_event* event) {
    return call(to.queue->handle(), memory, at, size, at == 0 ? to.count() : 0, at == 0 ? to.list() : nullptr,
                event);
  };
  if (transfer.is_read && transfer.command.request() == 0)
    return session.report_violation("read without a request for an answer");
  if (transfer.command.ring() != nullptr) {
    if (transfer.step >= transfer.size)
      return session.report_violation("ring for a transfer that is not sliced");
    pin_for(session, *transfer.to.queue);
    const auto& through_ring = transfer.is_read ? read_through_ring : write_through_ring;
    return through_ring(session, transfer.command, transfer.to, transfer.size, copy);
  }
  if (transfer.command.shared() != nullptr) return transfer_in_place(session, transfer, copy);
  transfer_by_payload(session, transfer, copy);
}

// `function` is clEnqueueReadBuffer or clEnqueueWriteBuffer, here and below.
template <typename Message, typename Function>
void transfer_buffer(SessionContext& session, const wire::Command& command, const Message& message,
                     bool is_read, Function function) {
  const auto to = begin_enqueue(session, command);
  if (!to) return;
  const auto object = session.objects.find(message.buffer());
  if (!object || object->kind != Kind::memory) return fail_command(session, command, CL_INVALID_MEM_OBJECT);
  if (!is_within(message.offset(), message.size(), object->size))
    return fail_command(session, command, CL_INVALID_VALUE);
  auto* const buffer = static_cast<cl_mem>(object->handle);
  run(session, sliced(command, *to, is_read, message.size()),
      [&](cl_command_queue queue, void* memory, std::uint64_t at, std::uint64_t size, auto... rest) {
        return function(queue, buffer, CL_FALSE, message.offset() + at, size, memory, rest...);
      });
}

template <typename Message, typename Function>
void transfer_rect(SessionContext& session, const wire::Command& command, const Message& message,
                   bool is_read, Function function) {
  const auto to = begin_enqueue(session, command);
  if (!to) return;
  const auto buffer = session.objects.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return fail_command(session, command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  const auto size = region_bytes(region, 1);
  if (!size) return fail_command(session, command, CL_INVALID_VALUE);
  const Triple host_origin{};
  run(session, {command, *to, is_read, *size, *size},
      [&](cl_command_queue queue, void* memory, std::uint64_t, std::uint64_t, auto... rest) {
        return function(queue, buffer, CL_FALSE, origin.data(), host_origin.data(), region.data(),
                        message.row_pitch(), message.slice_pitch(), region[0], region[0] * region[1], memory,
                        rest...);
      });
}

template <typename Message, typename Function>
void transfer_image(SessionContext& session, const wire::Command& command, const Message& message,
                    bool is_read, Function function) {
  const auto to = begin_enqueue(session, command);
  if (!to) return;
  const auto image = session.objects.handle<cl_mem>(message.image());
  const std::uint64_t element = image != nullptr ? image_element_size(session.cl, image) : 0;
  if (element == 0) return fail_command(session, command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  const auto size = region_bytes(region, element);
  if (!size) return fail_command(session, command, CL_INVALID_VALUE);
  run(session, {command, *to, is_read, *size, *size},
      [&](cl_command_queue queue, void* memory, std::uint64_t, std::uint64_t, auto... rest) {
        return function(queue, image, CL_FALSE, origin.data(), region.data(), 0, 0, memory, rest...);
      });
}

void transfer_svm(SessionContext& session, const wire::Command& command, std::uint64_t address,
                  std::uint64_t size, bool is_read) {
  const auto to = begin_enqueue(session, command);
  if (!to) return;
  if (size == 0 || !session.svm.contains(address, size))
    return fail_command(session, command, CL_INVALID_VALUE);
  auto* const svm = static_cast<std::byte*>(svm_pointer(address));
  run(session, sliced(command, *to, is_read, size),
      [&](cl_command_queue queue, void* memory, std::uint64_t at, std::uint64_t bytes, auto... rest) {
        return is_read ? session.cl.clEnqueueSVMMemcpy(queue, CL_FALSE, memory, svm + at, bytes, rest...)
                       : session.cl.clEnqueueSVMMemcpy(queue, CL_FALSE, svm + at, memory, bytes, rest...);
      });
}

}  // namespace

void handle(SessionContext& session, const wire::Command&, const wire::KeepShared& message) {
  const bool is_valid = message.kept() ? session.pinned.keep(message.offset(), message.size())
                                       : session.pinned.forget(message.offset(), message.size());
  if (!is_valid) session.report_violation("no range of the shared memory that could be kept");
}

void handle(SessionContext& session, const wire::Command& command, const wire::ReadBuffer& message) {
  transfer_buffer(session, command, message, true, session.cl.clEnqueueReadBuffer);
}

void handle(SessionContext& session, const wire::Command& command, const wire::WriteBuffer& message) {
  transfer_buffer(session, command, message, false, session.cl.clEnqueueWriteBuffer);
}

void handle(SessionContext& session, const wire::Command& command, const wire::ReadBufferRect& message) {
  transfer_rect(session, command, message, true, session.cl.clEnqueueReadBufferRect);
}

void handle(SessionContext& session, const wire::Command& command, const wire::WriteBufferRect& message) {
  transfer_rect(session, command, message, false, session.cl.clEnqueueWriteBufferRect);
}

void handle(SessionContext& session, const wire::Command& command, const wire::ReadImage& message) {
  transfer_image(session, command, message, true, session.cl.clEnqueueReadImage);
}

void handle(SessionContext& session, const wire::Command& command, const wire::WriteImage& message) {
  transfer_image(session, command, message, false, session.cl.clEnqueueWriteImage);
}

void handle(SessionContext& session, const wire::Command& command, const wire::SvmRead& message) {
  transfer_svm(session, command, message.source(), message.size(), true);
}

void handle(SessionContext& session, const wire::Command& command, const wire::SvmWrite& message) {
  transfer_svm(session, command, message.target(), message.size(), false);
}

}  // namespace cleave::remote::server
