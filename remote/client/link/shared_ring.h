// Large data through a ring of slots in shared memory (messages.fbs: Ring), slice by slice: while the
// server's device copies one slice the program's thread copies the next, and what both touch stays in the
// processor's caches.
//
// Whoever has one is sending a command and keeps all others from sending. So it waits for the device for a
// moment at most (kSlotTimeout): the device may be waiting for what the program does next. From then on the
// server takes copies of what is written, and sends what is read over the socket, which needs nobody but the
// server.
//
// Not thread-safe: each command has its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "remote/client/link/box.h"
#include "remote/client/link/shared_area.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

class Ring {
 public:
  static constexpr std::size_t kSlice = std::size_t{1} << 19U;
  static constexpr std::size_t kMinBytes = std::size_t{1} << 20U;  // the server takes no less
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kWords = 4096;  // bytes before the slots
  static constexpr std::size_t kSize = kWords + kSlots * kSlice;
  static constexpr std::chrono::milliseconds kSlotTimeout{5};

  // `announce` sends bytes to the server; false: it is gone. `alive`: whether it is worth waiting for.
  struct Peer {
    std::function<bool(std::span<const std::byte>)> announce;
    std::function<bool()> alive;
  };

  // In a place of kSize bytes, for data of more than a slice.
  Ring(const SharedArea::Place& place, const Box& box);

  [[nodiscard]] wire::Shared shared() const { return {offset_ + kWords, kSlots * kSlice}; }
  [[nodiscard]] wire::Ring words() const { return {offset_, kSlice}; }
  // Bytes of payload that tell the server of slots.
  [[nodiscard]] std::uint64_t write_payload() const { return slices_; }
  [[nodiscard]] std::uint64_t read_payload() const { return slices_ - std::min(slices_, kSlots); }

  // The box's bytes go out. False: the server is gone.
  bool write(const Peer& peer);

  // Before a read is sent: the first slots are the server's.
  void begin_read();
  // What comes while it is sent; false: the server is gone. Then the rest, as far as it comes soon.
  bool read_while_sending(const Peer& peer);
  void read_available(const Peer& peer);
  // The read has been answered: all of it is there.
  void read_remaining();

  // Bytes that come over the socket instead.
  [[nodiscard]] std::uint64_t diverted() const { return diverted_; }

 private:
  struct Filled {
    unsigned slot;
    std::size_t at;
  };

  [[nodiscard]] std::byte* slot(unsigned number) const { return data_ + kWords + number * kSlice; }
  [[nodiscard]] std::uint32_t& word(unsigned number) const {
    return *reinterpret_cast<std::uint32_t*>(data_ + number * sizeof(std::uint32_t));
  }
  [[nodiscard]] std::size_t length(std::size_t at) const { return std::min(kSlice, box_.bytes() - at); }
  bool await_returned(unsigned number, const Peer& peer);
  // Tells the server of a slot, at once or together with others.
  bool announce(const Peer& peer, std::uint8_t slot, std::size_t together);
  bool announce_all(const Peer& peer);
  bool await_copied(unsigned number, const Peer& peer) const;
  void copy_out(const Filled& filled) const;

  std::byte* const data_;
  const std::uint64_t offset_;
  const Box box_;
  const std::size_t slices_;
  bool stalled_at_ = false;
  std::uint64_t diverted_ = 0;
  std::vector<std::byte> unannounced_;
  std::deque<Filled> in_flight_;  // of a read, in order
};

// Whether no slot of the ring in this place is the server's any more.
bool is_ring_idle(std::byte* place);

}  // namespace cleave::remote::client
