// Transfers large data through a ring of slots in shared memory (messages.fbs: Ring), slice by slice: while the server's
// device copies one slice the program's thread copies the next, and what both touch stays in the processor's caches. Other threads
// help it (copy_threads.h) where there are processors to spare.
//
// The thread that uses a ring is sending a command, which keeps all other threads from sending. So it waits at most
// kSlotTimeout for the device, which may itself be waiting for what the program does next. After a timeout the server
// copies what is written at once, and sends what is read over the socket; neither depends on the device's progress here.
//
// The size of a slice follows from the place: a device that is fed by several threads is fed with more at a time.
//
// Not thread-safe: each command has its own. The words in shared memory are synchronized by transport/ring_slots.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "remote/client/link/box.h"
#include "remote/client/link/copy_threads.h"
#include "remote/client/link/shared_area.h"
#include "remote/protocol/limits.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

class Ring {
 public:
  static constexpr std::size_t kMinBytes = std::size_t{1} << 20U;  // the server refuses rings for less
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kWords = 4096;  // bytes before the slots
  // Bytes of a slice, for one thread and for several. Two rings of the larger ones fit into what the server's driver has pinned.
  static constexpr std::size_t kSlice = std::size_t{1} << 19U;
  static constexpr std::size_t kLargeSlice = (std::size_t{1} << 20U) - kWords;
  static constexpr std::size_t kSize = kWords + kSlots * kSlice;
  static constexpr std::size_t kLargeSize = kWords + kSlots * kLargeSlice;
  static_assert(2 * kLargeSize <= kKeptSharedMemory);
  static constexpr std::chrono::milliseconds kSlotTimeout{5};

  // announce() sends slot numbers to the server and returns false if the connection has ended; so does alive().
  struct Peer {
    std::function<bool(std::span<const std::byte>)> announce;
    std::function<bool()> alive;
  };

  // Requires: a place of kSize or kLargeSize bytes, data of more than one slice.
  Ring(const SharedArea::Place& place, const Box& box, CopyThreads& threads);

  // How much may be read through this place without waiting for the device while it is sent.
  static std::size_t capacity(const SharedArea::Place& place) { return place.size() - kWords; }

  [[nodiscard]] wire::Shared shared() const { return {offset_ + kWords, kSlots * slice_}; }
  [[nodiscard]] wire::Ring words() const { return {offset_, slice_}; }
  // How many bytes of slot numbers go to the server as the command's payload.
  [[nodiscard]] std::uint64_t write_payload() const { return slices_; }
  [[nodiscard]] std::uint64_t read_payload() const { return slices_ - std::min(slices_, kSlots); }

  // Writes all of the box. False: the connection has ended.
  bool write(const Peer& peer);

  // A read: begin_read() before the command is sent, which gives the first slots to the server; read_while_sending() with
  // its payload (false: the connection has ended); read_available() for what comes soon; read_remaining() after the
  // answer, which means that all data is there.
  void begin_read();
  bool read_while_sending(const Peer& peer);
  void read_available(const Peer& peer);
  void read_remaining();

  // Bytes of a read that come over the socket instead.
  [[nodiscard]] std::uint64_t diverted() const { return diverted_; }

 private:
  struct Slice {
    unsigned slot;
    std::size_t at;
  };

  [[nodiscard]] std::byte* slot(unsigned number) const { return data_ + kWords + number * slice_; }
  [[nodiscard]] std::uint32_t& word(unsigned number) const {
    return *reinterpret_cast<std::uint32_t*>(data_ + number * sizeof(std::uint32_t));
  }
  [[nodiscard]] std::size_t length(std::size_t at) const { return std::min(slice_, box_.bytes() - at); }
  bool await_returned(unsigned number, const Peer& peer);
  // Announces a slot to the server, together with others once there are `together`.
  bool announce(const Peer& peer, std::uint8_t slot, std::size_t together);
  bool announce_all(const Peer& peer);
  bool await_copied(unsigned number, const Peer& peer) const;
  void begin_copy(const Slice& slice);
  Slice end_copy();
  bool copy_or_wait();
  bool write_by_copy(std::size_t at, const Peer& peer);
  std::optional<unsigned> next_emptied(const Peer& peer);

  std::byte* const data_;
  const std::uint64_t offset_;
  const Box box_;
  const std::size_t slice_;  // bytes
  const std::size_t slices_;
  CopyThreads& threads_;
  bool timed_out_ = false;  // the last slot waited for did not come back in time
  std::uint64_t diverted_ = 0;
  std::vector<std::byte> unannounced_;
  std::deque<Slice> in_flight_;     // a read's slots that the server has, in order
  std::deque<Slice> being_copied_;  // the parts of `copy_`
  std::optional<SharedCopy> copy_;  // last: its end waits for helpers
};

// Whether the server has returned all slots of the ring in this place.
bool is_ring_idle(std::byte* place);

}  // namespace cleave::remote::client
