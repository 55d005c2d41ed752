// Data that passes through a ring of slots in shared memory (messages.fbs: Ring), slice by slice: while the
// driver copies one, from there or to there, the client does the next, and nothing is copied here.
//
// The slots' words tell the client which are its own again; the driver's events say when. The client says by
// a byte which slot comes next, and the reading thread waits for that as it waits for payloads: never for the
// device, so that the client can always go on to whatever the device may be waiting for.
#include <array>
#include <cstring>
#include <memory>
#include <thread>

#include "remote/protocol/limits.h"
#include "remote/server/session/enqueue.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::server {
namespace {

void CL_CALLBACK slot_ended(cl_event, cl_int, void* data) {
  const std::unique_ptr<std::shared_ptr<RingSlot>> slot(static_cast<std::shared_ptr<RingSlot>*>(data));
  (*slot)->return_once();
}

std::uint64_t slices_in(std::uint64_t size, std::uint64_t slice) { return (size + slice - 1) / slice; }

}  // namespace

// Empty: one that no client of good faith would name.
std::optional<ClientSession::RingView> ClientSession::ring_of(const wire::Command& command) {
  const wire::Shared* const place = command.shared();
  const wire::Ring* const ring = command.ring();
  if (place == nullptr || shared_ == nullptr || ring->slice() < kMinSlice || place->size() < ring->slice() ||
      place->size() / ring->slice() > kMaxSlots) {
    report_violation("a ring that is none");
    return std::nullopt;
  }
  const auto count = static_cast<unsigned>(place->size() / ring->slice());
  std::byte* const words = shared_->at(ring->words(), std::uint64_t{4} * count);
  std::byte* const slots = shared_->at(place->offset(), place->size());
  if (words == nullptr || slots == nullptr || ring->words() % 4 != 0) {
    report_violation("a place outside of the shared memory");
    return std::nullopt;
  }
  return RingView{slots, reinterpret_cast<std::uint32_t*>(words), ring->slice(), count};
}

// What has not been carried out gives its slots back all the same: the client may be waiting for one.
void ClientSession::return_ring_slots(const wire::Command& command) {
  const auto ring = ring_of(command);
  if (!ring) return;
  for (unsigned slot = 0; slot < ring->count && !ring_started_; ++slot) return_slot(ring->words[slot]);
  while (payload_left_ > 0) {
    std::uint8_t slot = 0;
    if (!read_slot(*ring, slot)) return;
    slot &= static_cast<std::uint8_t>(~kCopySlotFlag);
    if (slot < ring->count) return_slot(ring->words[slot]);
  }
}

// The next byte of the payload: a slot, perhaps with kCopySlotFlag, or kNoSlot.
bool ClientSession::read_slot(const RingView& ring, std::uint8_t& slot) {
  if (!read_payload(std::as_writable_bytes(std::span(&slot, 1)))) return false;
  if (slot != kNoSlot && (slot & ~kCopySlotFlag) >= ring.count) report_violation("a slot that there is not");
  return violation_.empty();
}

std::shared_ptr<RingSlot> ClientSession::return_slot_at_end(cl_event event, std::uint32_t& word) {
  auto slot = std::make_shared<RingSlot>(word);
  auto called = std::make_unique<std::shared_ptr<RingSlot>>(slot);
  if (cl_.clSetEventCallback(event, CL_COMPLETE, &slot_ended, called.get()) == CL_SUCCESS) {
    static_cast<void>(called.release());
    return slot;
  }
  // A driver without callbacks: somebody has to wait.
  cl_.clRetainEvent(event);
  std::thread([&cl = cl_, event, slot] {
    cl.clWaitForEvents(1, &event);
    slot->return_once();
    cl.clReleaseEvent(event);
  }).detach();
  return slot;
}

// A slice of the command has been enqueued; the last one ends it.
void ClientSession::finish_enqueue_slice(const wire::Command& command, const Enqueue& to, cl_event event,
                                         Pending pending, EventReference& first) {
  if (!pending.more) {
    pending.first = std::move(first);
    return finish_enqueue(command, to, event, std::move(pending));
  }
  pending.event = EventReference(cl_, event);
  if (first.get() == nullptr) {
    first = pending.event.duplicate();
  } else {
    pending.first = first.duplicate();
  }
  pending.ends = false;
  // A part that comes as a payload is sent when it is there; of the others their words tell.
  if (pending.is_read && pending.data) pending.request = command.request();
  to.queue->add(std::move(pending));
  cl_.clFlush(to.queue->handle());
}

// Some slices are under way and there is no taking them back: the command fails when they have ended.
void ClientSession::fail_after_slices(const wire::Command& command, const Enqueue& to, cl_int error,
                                      bool is_read, std::uint64_t bytes) {
  Pending pending;
  pending.error = error;
  pending.event_id = command.event();
  pending.bytes = bytes;
  if (is_read) {
    pending.request = command.request();
  } else if (command.request() != 0) {
    answers_.answer(command.request(), error);
  }
  if (command.event() != 0 && !objects_.add(command.event(), {Kind::event, nullptr, error, 0, {}, {}})) {
    return report_violation("an id that it may not choose");
  }
  to.queue->add(std::move(pending));
}

void ClientSession::write_through_ring(const wire::Command& command, const Enqueue& to, std::uint64_t size,
                                       const CopySlice& copy) {
  const auto ring = ring_of(command);
  if (!ring) return;
  if (command.payload() != slices_in(size, ring->slice)) return report_violation("a payload of another size");
  ring_started_ = true;
  flush_queues();
  EventReference first;
  for (std::uint64_t at = 0; at < size; at += ring->slice) {
    std::uint8_t slot = 0;
    if (!read_slot(*ring, slot)) return;
    if (slot == kNoSlot) return report_violation("a slot that there is not");
    const bool copies = (slot & kCopySlotFlag) != 0;
    slot &= static_cast<std::uint8_t>(~kCopySlotFlag);
    const std::uint64_t now = std::min(ring->slice, size - at);
    Pending pending;
    pending.bytes = 1;
    pending.more = at + now < size;
    std::byte* from = ring->slot(slot);
    cl_int error = CL_SUCCESS;
    if (copies) {
      pending.data = staging_.take(now);
      if (pending.data) std::memcpy(pending.data.data(), from, now);
      return_slot(ring->words[slot]);
      from = pending.data.data();
      if (!pending.data) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    cl_event event = nullptr;
    if (error == CL_SUCCESS) error = copy(from, at, now, to, &event);
    if (error != CL_SUCCESS) {
      if (!copies) return_slot(ring->words[slot]);
      return fail_after_slices(command, to, error, false, command.payload() - at / ring->slice);
    }
    if (!copies) pending.slot = return_slot_at_end(event, ring->words[slot]);
    finish_enqueue_slice(command, to, event, std::move(pending), first);
  }
}

void ClientSession::read_through_ring(const wire::Command& command, const Enqueue& to, std::uint64_t size,
                                      const CopySlice& copy) {
  const auto ring = ring_of(command);
  if (!ring) return;
  const std::uint64_t count = slices_in(size, ring->slice);
  const std::uint64_t ahead = std::min<std::uint64_t>(count, ring->count);
  if (command.payload() != count - ahead) return report_violation("a payload of another size");
  ring_started_ = true;
  flush_queues();
  EventReference first;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto slot = static_cast<std::uint8_t>(i);
    if (i >= ahead && !read_slot(*ring, slot)) return;
    if (slot != kNoSlot && slot >= ring->count) return report_violation("a slot that there is not");
    const std::uint64_t at = i * ring->slice;
    const std::uint64_t now = std::min(ring->slice, size - at);
    Pending pending;
    pending.is_read = true;
    pending.at = at;
    pending.bytes = i >= ahead ? 1 : 0;
    pending.more = i + 1 < count;
    cl_int error = CL_SUCCESS;
    if (slot == kNoSlot) {
      pending.data = staging_.take(now);
      if (!pending.data) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    }
    cl_event event = nullptr;
    std::byte* const into = slot == kNoSlot ? pending.data.data() : ring->slot(slot);
    if (error == CL_SUCCESS) error = copy(into, at, now, to, &event);
    if (error != CL_SUCCESS) {
      for (std::uint64_t left = i; left < ahead; ++left) return_slot(ring->words[left]);
      if (i >= ahead && slot != kNoSlot) return_slot(ring->words[slot]);
      return fail_after_slices(command, to, error, true, command.payload() - (i < ahead ? 0 : i - ahead));
    }
    if (slot != kNoSlot) pending.slot = return_slot_at_end(event, ring->words[slot]);
    finish_enqueue_slice(command, to, event, std::move(pending), first);
  }
}

}  // namespace cleave::remote::server
