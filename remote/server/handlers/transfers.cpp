// Data between the client's memory and the server's memory objects.
//
// Large transfers on an in-order queue go in slices: while the driver copies one, the socket carries the
// next.
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "remote/protocol/limits.h"
#include "remote/server/session/enqueue.h"
#include "remote/server/session/svm_address.h"

namespace cleave::remote::server {
namespace {

using Triple = std::array<std::size_t, 3>;

constexpr std::uint64_t kSlice = 1U << 20U;

Triple triple(const wire::Size3* size) {
  return size != nullptr ? Triple{size->x(), size->y(), size->z()} : Triple{};
}

// Empty: beyond what could ever be.
std::optional<std::uint64_t> region_bytes(const Triple& region, std::uint64_t element) {
  std::uint64_t all = element;
  for (const std::uint64_t one : region) {
    if (__builtin_mul_overflow(all, one, &all) || all > kMaxPayload) return std::nullopt;
  }
  return all;
}

bool is_within(std::uint64_t offset, std::uint64_t size, std::uint64_t whole) {
  return size > 0 && offset <= whole && size <= whole - offset;
}

}  // namespace

std::byte* ClientSession::shared_place(const wire::Command& command, std::uint64_t size) {
  const wire::Shared* const place = command.shared();
  std::byte* const data = place->size() == size ? shared_->at(place->offset(), size) : nullptr;
  if (data == nullptr) report_violation("a place outside of the shared memory");
  return data;
}

// A call as it is used below, for rings.cpp.
template <typename Call>
auto ClientSession::in_slices(Call call) {
  return [call](std::byte* memory, std::uint64_t at, std::uint64_t size, const Enqueue& to, cl_event* event) {
    return call(to.queue->handle(), memory, at, size, at == 0 ? to.count() : 0, at == 0 ? to.list() : nullptr,
                event);
  };
}

// `call(queue, into, at, size, number of waits, waits, event)` reads a part. In slices of `step` bytes.
template <typename Call>
void ClientSession::read(const wire::Command& command, const Enqueue& to, std::uint64_t size,
                         std::uint64_t step, Call call) {
  if (command.request() == 0) return report_violation("a read that nobody waits for");
  cl_event event = nullptr;
  const cl_command_queue queue = to.queue->handle();
  if (command.ring() != nullptr) {
    if (step >= size) return report_violation("a ring for what is not passed in slices");
    return read_through_ring(command, to, size, in_slices(call));
  }
  if (command.shared() != nullptr) {
    std::byte* const place = shared_place(command, size);
    if (place == nullptr) return;
    const cl_int error = call(queue, place, 0, size, to.count(), to.list(), &event);
    if (error != CL_SUCCESS) return fail_command(command, error);
    Pending pending;
    pending.is_read = true;
    return finish_enqueue(command, to, event, std::move(pending));
  }
  std::vector<Block> blocks;
  for (std::uint64_t at = 0; at < size; at += step) {
    blocks.push_back(staging_.take(std::min(step, size - at)));
    if (!blocks.back()) return fail_command(command, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  }
  EventReference first;
  for (std::uint64_t at = 0; at < size; at += step) {
    const std::uint64_t now = std::min(step, size - at);
    const bool is_last = at + now == size;
    Pending pending;
    pending.is_read = true;
    pending.at = at;
    pending.more = !is_last;
    pending.data = std::move(blocks[at / step]);
    const cl_int error = call(queue, pending.data.data(), at, now, at == 0 ? to.count() : 0,
                              at == 0 ? to.list() : nullptr, &event);
    // The beginning of it may be on its way already, and there is no taking it back.
    if (error != CL_SUCCESS && at > 0) return report_violation("a read that the driver gave up halfway");
    if (error != CL_SUCCESS) return fail_command(command, error);
    if (is_last) {
      pending.first = std::move(first);
      return finish_enqueue(command, to, event, std::move(pending));
    }
    pending.event = EventReference(cl_, event);
    if (at == 0) {
      first = pending.event.duplicate();
    } else {
      pending.first = first.duplicate();
    }
    pending.request = command.request();
    pending.ends = false;
    to.queue->add(std::move(pending));
  }
}

// The same the other way.
template <typename Call>
void ClientSession::write(const wire::Command& command, const Enqueue& to, std::uint64_t size,
                          std::uint64_t step, Call call) {
  cl_event event = nullptr;
  const cl_command_queue queue = to.queue->handle();
  if (command.ring() != nullptr) {
    if (step >= size) return report_violation("a ring for what is not passed in slices");
    return write_through_ring(command, to, size, in_slices(call));
  }
  if (command.shared() != nullptr) {
    std::byte* const place = shared_place(command, size);
    if (place == nullptr) return;
    const cl_int error = call(queue, place, 0, size, to.count(), to.list(), &event);
    return error == CL_SUCCESS ? finish_enqueue(command, to, event) : fail_command(command, error);
  }
  if (command.payload() != size) return report_violation("a payload of another size");
  EventReference first;
  for (std::uint64_t at = 0; at < size; at += step) {
    const std::uint64_t now = std::min(step, size - at);
    const bool is_last = at + now == size;
    Pending pending;
    pending.bytes = now;
    pending.data = staging_.take(now);
    if (!pending.data) return fail_command(command, CL_MEM_OBJECT_ALLOCATION_FAILURE, at);
    if (!read_payload(pending.data.bytes())) return;
    const cl_int error = call(queue, pending.data.data(), at, now, at == 0 ? to.count() : 0,
                              at == 0 ? to.list() : nullptr, &event);
    if (error != CL_SUCCESS) return fail_command(command, error, at);
    if (is_last) {
      pending.first = std::move(first);
      return finish_enqueue(command, to, event, std::move(pending));
    }
    pending.event = EventReference(cl_, event);
    if (at == 0) {
      first = pending.event.duplicate();
    } else {
      pending.first = first.duplicate();
    }
    pending.ends = false;
    to.queue->add(std::move(pending));
  }
}

void ClientSession::handle(const wire::Command& command, const wire::ReadBuffer& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  const auto object = objects_.find(message.buffer());
  if (!object || object->kind != Kind::memory) return fail_command(command, CL_INVALID_MEM_OBJECT);
  if (!is_within(message.offset(), message.size(), object->size))
    return fail_command(command, CL_INVALID_VALUE);
  auto* const buffer = static_cast<cl_mem>(object->handle);
  const std::uint64_t step = to->queue->info().in_order ? kSlice : message.size();
  read(command, *to, message.size(), step,
       [&](cl_command_queue queue, void* into, std::uint64_t at, std::uint64_t size, auto... rest) {
         return cl_.clEnqueueReadBuffer(queue, buffer, CL_FALSE, message.offset() + at, size, into, rest...);
       });
}

void ClientSession::handle(const wire::Command& command, const wire::WriteBuffer& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  const auto object = objects_.find(message.buffer());
  if (!object || object->kind != Kind::memory) return fail_command(command, CL_INVALID_MEM_OBJECT);
  if (!is_within(message.offset(), message.size(), object->size))
    return fail_command(command, CL_INVALID_VALUE);
  auto* const buffer = static_cast<cl_mem>(object->handle);
  const std::uint64_t step = to->queue->info().in_order ? kSlice : message.size();
  write(command, *to, message.size(), step,
        [&](cl_command_queue queue, const void* from, std::uint64_t at, std::uint64_t size, auto... rest) {
          return cl_.clEnqueueWriteBuffer(queue, buffer, CL_FALSE, message.offset() + at, size, from,
                                          rest...);
        });
}

void ClientSession::handle(const wire::Command& command, const wire::ReadBufferRect& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  const auto buffer = objects_.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  const auto size = region_bytes(region, 1);
  if (!size || *size == 0) return fail_command(command, CL_INVALID_VALUE);
  const Triple zero_origin{};
  read(command, *to, *size, *size,
       [&](cl_command_queue queue, void* into, std::uint64_t, std::uint64_t, auto... rest) {
         return cl_.clEnqueueReadBufferRect(queue, buffer, CL_FALSE, origin.data(), zero_origin.data(),
                                            region.data(), message.row_pitch(), message.slice_pitch(),
                                            region[0], region[0] * region[1], into, rest...);
       });
}

void ClientSession::handle(const wire::Command& command, const wire::WriteBufferRect& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  const auto buffer = objects_.handle<cl_mem>(message.buffer());
  if (buffer == nullptr) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  const auto size = region_bytes(region, 1);
  if (!size || *size == 0) return fail_command(command, CL_INVALID_VALUE);
  const Triple zero_origin{};
  write(command, *to, *size, *size,
        [&](cl_command_queue queue, const void* from, std::uint64_t, std::uint64_t, auto... rest) {
          return cl_.clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, origin.data(), zero_origin.data(),
                                              region.data(), message.row_pitch(), message.slice_pitch(),
                                              region[0], region[0] * region[1], from, rest...);
        });
}

std::uint64_t ClientSession::element_size(cl_mem image) const {
  std::size_t size = 0;
  return cl_.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof size, &size, nullptr) == CL_SUCCESS ? size
                                                                                                     : 0;
}

void ClientSession::handle(const wire::Command& command, const wire::ReadImage& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  const auto image = objects_.handle<cl_mem>(message.image());
  const std::uint64_t element = image != nullptr ? element_size(image) : 0;
  if (element == 0) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  const auto size = region_bytes(region, element);
  if (!size || *size == 0) return fail_command(command, CL_INVALID_VALUE);
  read(command, *to, *size, *size,
       [&](cl_command_queue queue, void* into, std::uint64_t, std::uint64_t, auto... rest) {
         return cl_.clEnqueueReadImage(queue, image, CL_FALSE, origin.data(), region.data(), 0, 0, into,
                                       rest...);
       });
}

void ClientSession::handle(const wire::Command& command, const wire::WriteImage& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  const auto image = objects_.handle<cl_mem>(message.image());
  const std::uint64_t element = image != nullptr ? element_size(image) : 0;
  if (element == 0) return fail_command(command, CL_INVALID_MEM_OBJECT);
  const Triple origin = triple(message.origin());
  const Triple region = triple(message.region());
  const auto size = region_bytes(region, element);
  if (!size || *size == 0) return fail_command(command, CL_INVALID_VALUE);
  write(command, *to, *size, *size,
        [&](cl_command_queue queue, const void* from, std::uint64_t, std::uint64_t, auto... rest) {
          return cl_.clEnqueueWriteImage(queue, image, CL_FALSE, origin.data(), region.data(), 0, 0, from,
                                         rest...);
        });
}

// SVM: addresses are the server's, and have to lie in what this client has allocated.

bool ClientSession::is_svm(std::uint64_t address, std::uint64_t size) const {
  auto block = svm_.upper_bound(address);
  if (block == svm_.begin()) return false;
  --block;
  return address - block->first <= block->second && size <= block->second - (address - block->first);
}

void ClientSession::handle(const wire::Command& command, const wire::SvmRead& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  if (!is_svm(message.source(), message.size()) || message.size() == 0)
    return fail_command(command, CL_INVALID_VALUE);
  const auto* const source = static_cast<const std::byte*>(at(message.source()));
  const std::uint64_t step = to->queue->info().in_order ? kSlice : message.size();
  read(command, *to, message.size(), step,
       [&](cl_command_queue queue, void* into, std::uint64_t at, std::uint64_t size, auto... rest) {
         return cl_.clEnqueueSVMMemcpy(queue, CL_FALSE, into, source + at, size, rest...);
       });
}

void ClientSession::handle(const wire::Command& command, const wire::SvmWrite& message) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  if (!is_svm(message.target(), message.size()) || message.size() == 0)
    return fail_command(command, CL_INVALID_VALUE);
  auto* const target = static_cast<std::byte*>(at(message.target()));
  const std::uint64_t step = to->queue->info().in_order ? kSlice : message.size();
  write(command, *to, message.size(), step,
        [&](cl_command_queue queue, const void* from, std::uint64_t at, std::uint64_t size, auto... rest) {
          return cl_.clEnqueueSVMMemcpy(queue, CL_FALSE, target + at, from, size, rest...);
        });
}

}  // namespace cleave::remote::server
