#include "remote/server/handlers/ring_transfers.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::server {
namespace {

void CL_CALLBACK slot_ended(cl_event, cl_int, void* data) {
  const std::unique_ptr<std::shared_ptr<RingSlot>> slot(static_cast<std::shared_ptr<RingSlot>*>(data));
  (*slot)->return_once();
}

std::uint64_t slices_in(std::uint64_t size, std::uint64_t slice) { return (size + slice - 1) / slice; }

// The slots and their words in shared memory.
struct RingView {
  std::byte* slots;
  std::uint32_t* words;
  std::uint64_t slice;  // bytes
  unsigned count;
  [[nodiscard]] std::byte* slot(unsigned number) const { return slots + number * slice; }
};

// Empty: the client has named an invalid ring, which is a violation.
std::optional<RingView> ring_of(SessionContext& session, const wire::Command& command) {
  const wire::Shared* const place = command.shared();
  const wire::Ring* const ring = command.ring();
  if (place == nullptr || session.shared == nullptr || ring->slice() < kMinSlice ||
      place->size() < ring->slice() || place->size() / ring->slice() > kMaxSlots) {
    session.report_violation("invalid ring");
    return std::nullopt;
  }
  const auto count = static_cast<unsigned>(place->size() / ring->slice());
  std::byte* const words = session.shared->at(ring->words(), std::uint64_t{4} * count);
  std::byte* const slots = session.shared->at(place->offset(), place->size());
  if (words == nullptr || slots == nullptr || ring->words() % 4 != 0) {
    session.report_violation("range outside of the shared memory");
    return std::nullopt;
  }
  return RingView{slots, reinterpret_cast<std::uint32_t*>(words), ring->slice(), count};
}

// Reads the next byte of the payload: a slot, possibly with kCopySlotFlag, or kNoSlot.
bool read_slot(SessionContext& session, const RingView& ring, std::uint8_t& slot) {
  if (!session.read_payload(std::as_writable_bytes(std::span(&slot, 1)))) return false;
  if (slot != kNoSlot && (slot & ~kCopySlotFlag) >= ring.count)
    session.report_violation("no such slot in the ring");
  return session.violation.empty();
}

// Returns the slot when the driver calls back, or, for drivers without callbacks, by a thread that waits.
void return_slot_at_callback(SessionContext& session, cl_event event, const std::shared_ptr<RingSlot>& slot) {
  auto argument = std::make_unique<std::shared_ptr<RingSlot>>(slot);
  if (session.cl.clSetEventCallback(event, CL_COMPLETE, &slot_ended, argument.get()) == CL_SUCCESS) {
    static_cast<void>(argument.release());
    return;
  }
  // The thread holds all that it uses and ends with the command.
  session.cl.clRetainEvent(event);
  std::thread([&cl = session.cl, event, slot] {
    cl.clWaitForEvents(1, &event);
    slot->return_once();
    cl.clReleaseEvent(event);
  }).detach();
}

// The slices of a transfer that are in flight. The driver's callbacks return their slots; on a device that fetches data by itself the
// reading thread does so as well, while it waits for the client: there a slice may take less time than the callback.
class Slices {
 public:
  Slices(SessionContext& session, const Queue& queue)
      : session_(session), are_polled_(queue.keeps_pinned()) {}

  // A slice that has been enqueued, and the word of its slot. One that the driver has carried out within the call needs no callback,
  // which would be in the way of the next call.
  std::shared_ptr<RingSlot> add(cl_event event, std::uint32_t& word) {
    auto slot = std::make_shared<RingSlot>(word);
    if (are_polled_ && has_ended(event)) {
      slot->return_once();
      return slot;
    }
    return_slot_at_callback(session_, event, slot);
    if (!are_polled_) return slot;
    forget_returned();
    session_.cl.clRetainEvent(event);
    in_flight_.push_back({EventReference(session_.cl, event), slot});
    return slot;
  }

  // Looks for their ends until the client has sent more, all have ended, or a short time has passed.
  void poll() {
    if (in_flight_.empty()) return;
    const auto has_more = [this] { return session_.input.has_more(); };
    session_.slice_spin.until(has_more, [this] {
      return_ended();
      return in_flight_.empty();
    });
  }
  // The same when the last has been enqueued.
  void poll_last() {
    if (in_flight_.empty()) return;
    session_.flush_queues();
    poll();
  }

 private:
  struct Slice {
    EventReference event;
    std::shared_ptr<RingSlot> slot;
  };

  [[nodiscard]] bool has_ended(cl_event event) const { return status_of(session_.cl, event) <= CL_COMPLETE; }
  // Without asking the driver, and so also where the client always has more and nothing is polled: else a long transfer would keep
  // the events of all its slices.
  void forget_returned() {
    while (!in_flight_.empty() && in_flight_.front().slot->has_been_returned()) in_flight_.pop_front();
  }
  void return_ended() {
    for (forget_returned(); !in_flight_.empty() && has_ended(in_flight_.front().event.get());
         forget_returned())
      in_flight_.front().slot->return_once();
  }

  SessionContext& session_;
  const bool are_polled_;
  std::deque<Slice> in_flight_;
};

// Earlier slices are in flight and cannot be taken back: the command fails when they have ended.
void fail_after_slices(SessionContext& session, const wire::Command& command, const Enqueue& to, cl_int error,
                       bool is_read, std::uint64_t bytes) {
  Pending pending;
  pending.error = error;
  pending.event_id = command.event();
  pending.bytes = bytes;
  if (is_read) {
    pending.request = command.request();
  } else if (command.request() != 0) {
    session.answers.answer(command.request(), error);
  }
  if (command.event() != 0 && !session.register_object(command.event(), {Kind::event, nullptr})) return;
  to.queue->add(std::move(pending));
}

}  // namespace

void return_ring_slots(SessionContext& session, const wire::Command& command) {
  const auto ring = ring_of(session, command);
  if (!ring) return;
  for (unsigned slot = 0; slot < ring->count && !session.ring_started; ++slot) return_slot(ring->words[slot]);
  while (session.payload_left > 0) {
    std::uint8_t slot = 0;
    if (!read_slot(session, *ring, slot)) return;
    slot &= static_cast<std::uint8_t>(~kCopySlotFlag);
    if (slot < ring->count) return_slot(ring->words[slot]);
  }
}

void write_through_ring(SessionContext& session, const wire::Command& command, const Enqueue& to,
                        std::uint64_t size, const CopySlice& copy) {
  const auto ring = ring_of(session, command);
  if (!ring) return;
  if (command.payload() != slices_in(size, ring->slice))
    return session.report_violation("payload size does not match");
  session.ring_started = true;
  session.flush_queues();
  EventReference first;
  Slices slices(session, *to.queue);
  for (std::uint64_t at = 0; at < size; at += ring->slice) {
    std::uint8_t slot = 0;
    slices.poll();
    if (!read_slot(session, *ring, slot)) return;
    if (slot == kNoSlot) return session.report_violation("no such slot in the ring");
    const bool copies = (slot & kCopySlotFlag) != 0;
    slot &= static_cast<std::uint8_t>(~kCopySlotFlag);
    const std::uint64_t now = std::min(ring->slice, size - at);
    Pending pending;
    pending.bytes = 1;
    pending.more = at + now < size;
    std::byte* from = ring->slot(slot);
    cl_int error = CL_SUCCESS;
    if (copies) {
      pending.data = session.staging.take(now);
      if (pending.data) std::memcpy(pending.data.data(), from, now);
      return_slot(ring->words[slot]);
      from = pending.data.data();
      if (!pending.data) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    cl_event event = nullptr;
    if (error == CL_SUCCESS) error = copy(from, at, now, to, &event);
    if (error != CL_SUCCESS) {
      if (!copies) return_slot(ring->words[slot]);
      return fail_after_slices(session, command, to, error, false, command.payload() - at / ring->slice);
    }
    if (!copies) pending.slot = slices.add(event, ring->words[slot]);
    const bool is_last = !pending.more;
    finish_enqueue_slice(session, command, to, event, std::move(pending), first);
    if (!is_last) session.cl.clFlush(to.queue->handle());
  }
}

void read_through_ring(SessionContext& session, const wire::Command& command, const Enqueue& to,
                       std::uint64_t size, const CopySlice& copy) {
  const auto ring = ring_of(session, command);
  if (!ring) return;
  const std::uint64_t count = slices_in(size, ring->slice);
  const std::uint64_t ahead = std::min<std::uint64_t>(count, ring->count);
  if (command.payload() != count - ahead) return session.report_violation("payload size does not match");
  session.ring_started = true;
  session.flush_queues();
  EventReference first;
  Slices slices(session, *to.queue);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto slot = static_cast<std::uint8_t>(i);
    if (i >= ahead) slices.poll();
    if (i >= ahead && !read_slot(session, *ring, slot)) return;
    if (slot != kNoSlot && slot >= ring->count) return session.report_violation("no such slot in the ring");
    const std::uint64_t at = i * ring->slice;
    const std::uint64_t now = std::min(ring->slice, size - at);
    Pending pending;
    pending.is_read = true;
    pending.at = at;
    pending.bytes = i >= ahead ? 1 : 0;
    pending.more = i + 1 < count;
    cl_int error = CL_SUCCESS;
    if (slot == kNoSlot) {
      pending.data = session.staging.take(now);
      if (!pending.data) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    cl_event event = nullptr;
    std::byte* const into = slot == kNoSlot ? pending.data.data() : ring->slot(slot);
    if (error == CL_SUCCESS) error = copy(into, at, now, to, &event);
    if (error != CL_SUCCESS) {
      for (std::uint64_t left = i; left < ahead; ++left) return_slot(ring->words[left]);
      if (i >= ahead && slot != kNoSlot) return_slot(ring->words[slot]);
      return fail_after_slices(session, command, to, error, true,
                               command.payload() - (i < ahead ? 0 : i - ahead));
    }
    if (slot != kNoSlot) pending.slot = slices.add(event, ring->words[slot]);
    const bool is_last = !pending.more;
    finish_enqueue_slice(session, command, to, event, std::move(pending), first);
    if (!is_last) session.cl.clFlush(to.queue->handle());
  }
  slices.poll_last();
}

}  // namespace cleave::remote::server
