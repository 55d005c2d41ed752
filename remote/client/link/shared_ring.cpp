#include "remote/client/link/shared_ring.h"

#include <algorithm>
#include <chrono>

#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::client {
namespace {

using std::chrono::steady_clock;

// The last slot is for slices that the server copies at once, so it always comes back soon.
constexpr unsigned kDirectSlots = Ring::kSlots - 1;
static_assert(Ring::kSlots <= SharedCopy::kMostParts);
constexpr std::chrono::milliseconds kPollInterval{100};
// Slots that are announced with one system call, each of which wakes a thread of the server.
constexpr std::size_t kWritesTogether = 2;
constexpr std::size_t kReadsTogether = 2;

}  // namespace

Ring::Ring(const SharedArea::Place& place, const Box& box, CopyThreads& threads)
    : data_(place.data()),
      offset_(place.offset()),
      box_(box),
      slice_((place.size() - kWords) / kSlots),
      slices_((box.bytes() + slice_ - 1) / slice_),
      threads_(threads) {
  for (unsigned i = 0; i < kSlots; ++i) return_slot(word(i));
}

// After a timeout slots are only checked, until one has come back.
bool Ring::await_returned(unsigned number, const Peer& peer) {
  if (is_returned(word(number))) {
    timed_out_ = false;
    return true;
  }
  // The server cannot return a slot that was not announced.
  if (timed_out_ || !announce_all(peer)) return false;
  timed_out_ = !wait_for_slot(word(number), steady_clock::now() + kSlotTimeout);
  return !timed_out_;
}

bool Ring::announce(const Peer& peer, std::uint8_t slot, std::size_t together) {
  unannounced_.push_back(static_cast<std::byte>(slot));
  return unannounced_.size() < together || announce_all(peer);
}

bool Ring::announce_all(const Peer& peer) {
  const bool sent = unannounced_.empty() || peer.announce(unannounced_);
  unannounced_.clear();
  return sent;
}

bool Ring::await_copied(unsigned number, const Peer& peer) const {
  while (!wait_for_slot(word(number), steady_clock::now() + kPollInterval)) {
    if (!peer.alive()) return false;
  }
  return true;
}

void Ring::begin_copy(const Slice& slice) {
  copy_->add({slot(slice.slot), slice.at, length(slice.at)});
  being_copied_.push_back(slice);
}

Ring::Slice Ring::end_copy() {
  const Slice first = being_copied_.front();
  being_copied_.pop_front();
  copy_->remove_first();
  return first;
}

// Copies a block, or waits for the first of the slices that are being copied. False: there are none.
bool Ring::copy_or_wait() {
  if (being_copied_.empty()) return false;
  if (!copy_->copy_block()) copy_->await_first();
  return true;
}

bool Ring::write(const Peer& peer) {
  copy_.emplace(threads_, box_, SharedCopy::Direction::to_shared);
  unsigned next = 0;
  std::size_t at = 0;
  while (at < box_.bytes() || !being_copied_.empty()) {
    if (copy_->is_first_copied()) {
      const Slice filled = end_copy();
      give_slot(word(filled.slot));
      if (!announce(peer, static_cast<std::uint8_t>(filled.slot), filled.at == 0 ? 1 : kWritesTogether))
        return false;
      continue;
    }
    if (at < box_.bytes() && being_copied_.size() < kDirectSlots && is_returned(word(next))) {
      timed_out_ = false;
      begin_copy({next, at});
      next = (next + 1) % kDirectSlots;
      at += slice_;
      continue;
    }
    if (copy_or_wait() || await_returned(next, peer)) continue;
    if (!write_by_copy(at, peer)) return false;
    at += slice_;
  }
  return announce_all(peer);
}

// Through the last slot. Requires: all slices before it have been announced, or are about to be.
bool Ring::write_by_copy(std::size_t at, const Peer& peer) {
  if (!announce_all(peer) || !await_copied(kDirectSlots, peer)) return false;
  box_.copy_to(slot(kDirectSlots), at, length(at));
  give_slot(word(kDirectSlots));
  return announce(peer, static_cast<std::uint8_t>(kDirectSlots | kCopySlotFlag),
                  at == 0 ? 1 : kWritesTogether);
}

void Ring::begin_read() {
  copy_.emplace(threads_, box_, SharedCopy::Direction::from_shared);
  for (unsigned i = 0; i < std::min(slices_, kSlots); ++i) {
    give_slot(word(i));
    in_flight_.push_back({i, i * slice_});
  }
}

// The next slot that the device has filled, and whose slice has been copied from there. Empty: there is none, or the device takes
// too long.
std::optional<unsigned> Ring::next_emptied(const Peer& peer) {
  while (true) {
    if (copy_->is_first_copied()) return end_copy().slot;
    if (!in_flight_.empty() && is_returned(word(in_flight_.front().slot))) {
      begin_copy(in_flight_.front());
      in_flight_.pop_front();
      continue;
    }
    if (copy_or_wait()) continue;
    if (in_flight_.empty() || !await_returned(in_flight_.front().slot, peer)) return std::nullopt;
  }
}

bool Ring::read_while_sending(const Peer& peer) {
  for (std::size_t at = kSlots * slice_; at < box_.bytes(); at += slice_) {
    const auto emptied = timed_out_ ? std::nullopt : next_emptied(peer);
    if (emptied) {
      in_flight_.push_back({*emptied, at});
      give_slot(word(*emptied));
    } else {
      diverted_ += length(at);
    }
    if (!announce(peer, emptied ? static_cast<std::uint8_t>(*emptied) : kNoSlot, kReadsTogether))
      return false;
  }
  return announce_all(peer);
}

void Ring::read_available(const Peer& peer) {
  while (next_emptied(peer)) {
  }
}

void Ring::read_remaining() {
  for (; !in_flight_.empty(); in_flight_.pop_front()) begin_copy(in_flight_.front());
  while (!being_copied_.empty()) {
    if (copy_->is_first_copied()) {
      end_copy();
    } else {
      copy_or_wait();
    }
  }
}

bool is_ring_idle(std::byte* place) {
  auto* const words = reinterpret_cast<std::uint32_t*>(place);
  return std::all_of(words, words + Ring::kSlots, [](std::uint32_t& word) { return is_returned(word); });
}

}  // namespace cleave::remote::client
