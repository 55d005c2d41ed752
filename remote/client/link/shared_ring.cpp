#include "remote/client/link/shared_ring.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "remote/protocol/limits.h"
#include "remote/transport/ring_slots.h"

namespace cleave::remote::client {
namespace {

using std::chrono::steady_clock;

// The last slot is for slices that the server copies at once, so it always comes back soon.
constexpr unsigned kDirectSlots = Ring::kSlots - 1;
// Copied at a time: small enough for a core's cache, and for the C library not to choose non-temporal stores.
constexpr std::size_t kBlock = std::size_t{128} << 10U;
constexpr std::chrono::milliseconds kPollInterval{100};
// Slots that are announced with one system call, each of which wakes a thread of the server.
constexpr std::size_t kWritesTogether = 2;
constexpr std::size_t kReadsTogether = 2;

// Bypasses the caches for large data that is not read at once: no line is fetched only to be overwritten.
void copy_non_temporal(std::byte* to, const std::byte* from, std::size_t bytes) {
#ifdef __SSE2__
  constexpr std::size_t kLine = 64;
  const std::size_t ahead = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine);
  std::memcpy(to, from, ahead);
  to += ahead;
  from += ahead;
  bytes -= ahead;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
    for (std::size_t i = 0; i < kLine; i += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
  }
  _mm_sfence();
#endif
  std::memcpy(to, from, bytes);
}

template <typename Copy>
void in_blocks(std::size_t length, Copy copy) {
  for (std::size_t done = 0; done < length; done += kBlock) copy(done, std::min(kBlock, length - done));
}

}  // namespace

Ring::Ring(const SharedArea::Place& place, const Box& box)
    : data_(place.data()), offset_(place.offset()), box_(box), slices_((box.bytes() + kSlice - 1) / kSlice) {
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

bool Ring::write(const Peer& peer) {
  unsigned next = 0;
  for (std::size_t at = 0; at < box_.bytes(); at += kSlice) {
    std::uint8_t announced = 0;
    unsigned number = next;
    if (await_returned(next, peer)) {
      announced = static_cast<std::uint8_t>(next);
      next = (next + 1) % kDirectSlots;
    } else {
      number = kDirectSlots;
      announced = static_cast<std::uint8_t>(number | kCopySlotFlag);
      if (!announce_all(peer) || !await_copied(number, peer)) return false;
    }
    in_blocks(length(at), [&](std::size_t done, std::size_t size) {
      box_.copy_to(slot(number) + done, at + done, size);
    });
    give_slot(word(number));
    if (!announce(peer, announced, at == 0 ? 1 : kWritesTogether)) return false;
  }
  return announce_all(peer);
}

void Ring::begin_read() {
  for (unsigned i = 0; i < std::min(slices_, kSlots); ++i) {
    give_slot(word(i));
    in_flight_.push_back({i, i * kSlice});
  }
}

void Ring::copy_out(const Filled& filled) const {
  in_blocks(length(filled.at), [&](std::size_t done, std::size_t size) {
    box_.copy_from(slot(filled.slot) + done, filled.at + done, size, copy_non_temporal);
  });
}

bool Ring::read_while_sending(const Peer& peer) {
  for (std::size_t at = kSlots * kSlice; at < box_.bytes(); at += kSlice) {
    if (!timed_out_ && !in_flight_.empty() && await_returned(in_flight_.front().slot, peer)) {
      const unsigned number = in_flight_.front().slot;
      copy_out(in_flight_.front());
      in_flight_.pop_front();
      in_flight_.push_back({number, at});
      give_slot(word(number));
      if (!announce(peer, static_cast<std::uint8_t>(number), kReadsTogether)) return false;
    } else {
      diverted_ += length(at);
      if (!announce(peer, kNoSlot, kReadsTogether)) return false;
    }
  }
  return announce_all(peer);
}

void Ring::read_available(const Peer& peer) {
  while (!in_flight_.empty() && await_returned(in_flight_.front().slot, peer)) {
    copy_out(in_flight_.front());
    in_flight_.pop_front();
  }
}

void Ring::read_remaining() {
  for (const Filled& filled : in_flight_) copy_out(filled);
  in_flight_.clear();
}

bool is_ring_idle(std::byte* place) {
  auto* const words = reinterpret_cast<std::uint32_t*>(place);
  return std::all_of(words, words + Ring::kSlots, [](std::uint32_t& word) { return is_returned(word); });
}

}  // namespace cleave::remote::client
