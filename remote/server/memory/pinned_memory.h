// The memory that a client shares, pinned by the driver: the device fetches data from there by itself, where the driver would else
// have a processor copy it (docs/measurements.md, "On a GPU"). Pinned is what stays the same pages: the beginning of the memory,
// and the ranges behind it that the client has said to keep, each when it is first used for a large transfer.
//
// For the thread that reads from the client.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "base/opencl.h"
#include "remote/protocol/limits.h"
#include "remote/server/memory/shared_memory.h"

namespace cleave::remote::server {

class PinnedMemory {
 public:
  // Bytes, in all contexts together: on the device they may take as much. Enough for the beginning, and what our client has for maps.
  static constexpr std::uint64_t kMaxPinned = kKeptSharedMemory + (std::uint64_t{256} << 20U);

  // `driver`: not counted against the client's limits, since it is no object of the client's. `shared` may be null.
  PinnedMemory(const Table& driver, const SharedMemory* shared) : driver_(driver), shared_(shared) {}

  // Pins the beginning of the memory for the context of this queue, if it is not pinned, for as long as the result lives; so it
  // should not outlive the queue, since it keeps the context. Null: this driver does not gain by it, or refuses, or too much is pinned.
  std::shared_ptr<const void> pin_for(cl_command_queue queue);

  // The client keeps this range from here on, or no longer. False: it is none that may be kept, or none that is.
  bool keep(std::uint64_t offset, std::uint64_t size);
  bool forget(std::uint64_t offset, std::uint64_t size);

  // Pins the kept range that has this place, if there is one, for the context of this queue, until the range is forgotten or the
  // result of pin_for() has ended; in any case for as long as its own result lives. Where too much would be pinned, other contexts
  // no longer have this range, which belongs to one buffer at a time. Null: nothing has been pinned.
  std::shared_ptr<const void> pin_place(cl_command_queue queue, std::uint64_t offset, std::uint64_t size);

 private:
  struct Pins {  // of a context
    std::shared_ptr<const void> beginning;
    std::map<std::uint64_t, std::shared_ptr<const void>> ranges;  // by offset; null: the driver has refused
  };

  void unpin_elsewhere(std::uint64_t offset, const Pins* context);
  [[nodiscard]] bool has_room_for(std::uint64_t size) const { return size <= kMaxPinned - bytes_->load(); }
  [[nodiscard]] std::shared_ptr<const void> pin(cl_context context, std::uint64_t offset,
                                                std::uint64_t size) const;

  const Table& driver_;
  const SharedMemory* const shared_;
  // That are pinned, also those of ranges that have been forgotten while commands use them. Commands may end in other threads.
  const std::shared_ptr<std::atomic<std::uint64_t>> bytes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::map<cl_context, std::weak_ptr<Pins>> pinned_;
  std::map<std::uint64_t, std::uint64_t> kept_;  // sizes by offset
};

}  // namespace cleave::remote::server
