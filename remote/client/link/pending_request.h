// A request whose answer is awaited: what is known of it, and where its data goes.
//
// A caller that waits has it on its stack. That of a non-blocking read belongs to the connection, which deletes it after
// calling `on_complete` (owned_by_connection).
//
// Threads: the caller fills it in before it is sent; then only the connection's reader uses it (connection.h) until
// `done`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/opencl.h"
#include "remote/client/link/box.h"
#include "remote/client/link/map_regions.h"
#include "remote/client/link/shared_area.h"
#include "remote/client/link/wire_types.h"
#include "remote/client/objects/object_state.h"
#include "remote/protocol/messages.h"

namespace cleave::remote::client {

class PendingRequest {
 public:
  PendingRequest() = default;
  explicit PendingRequest(const Box& box) : destination(box) {}
  PendingRequest(const PendingRequest&) = delete;
  PendingRequest& operator=(const PendingRequest&) = delete;

  // The stored answer. Null if the connection has ended, or the answer is only an error and a value.
  [[nodiscard]] const wire::Answer* answer() const { return answer_; }

  // Stores an answer within `message`, which is copied only if the answer has more than an error and a value.
  void store(const wire::Answer& answer, std::span<const std::byte> message) {
    error = driver_error(answer.error());
    value = answer.value();
    const bool has_more = answer.values() != nullptr || answer.bytes() != nullptr ||
                          answer.infos() != nullptr || answer.devices() != nullptr;
    if (!has_more) return;
    message_.resize((message.size() + 7) / 8);
    std::memcpy(message_.data(), message.data(), message.size());
    const auto offset = reinterpret_cast<const std::byte*>(&answer) - message.data();
    answer_ =
        reinterpret_cast<const wire::Answer*>(reinterpret_cast<const std::byte*>(message_.data()) + offset);
  }

  // Whether its data comes through shared memory, and where there; it may stay there.
  [[nodiscard]] bool is_shared() const { return place || region != nullptr; }
  [[nodiscard]] std::uint64_t shared_offset() const {
    return place ? place.offset() : region->offset_of(destination.base);
  }

  // How many bytes of its data come over the socket.
  [[nodiscard]] std::uint64_t payload() const { return is_shared() ? 0 : destination.bytes(); }

  Box destination;       // where the data goes in the program's memory, unless
  bool collect = false;  // it goes to `collected`
  std::vector<std::byte> collected;
  cl_int error = CL_SUCCESS;
  std::uint64_t value = 0;
  std::uint64_t received = 0;  // bytes of its data, which may come in parts
  SharedArea::Place place;     // the shared memory through which the data comes; empty: the socket
  std::shared_ptr<const MapRegion> region;  // shared memory that has the destination itself
  bool in_ring = false;                     // `place` is a ring, which the waiting thread reads
  bool answer_at_end = false;  // the server answers when the command has ended, as it always does for reads
  bool owned_by_connection = false;
  // Of a non-blocking read: its queue, its event, and whether the queue runs in order.
  Id queue = 0;
  Id event = 0;
  bool in_order = false;
  // The answer means that all commands that were sent to this queue before have ended; `is_finish`: also if it is an
  // error.
  Id ends_queue = 0;
  bool is_finish = false;
  // Set by the connection: the number of the request, counted from 1; the first id that was chosen after it was sent.
  std::uint64_t sequence = 0;
  Id first_later_id = 0;
  bool destination_released =
      false;  // the program may have freed the destination: nothing may be written to it
  std::function<void(PendingRequest&)> on_complete;
  std::atomic<bool> done{false};

 private:
  std::vector<std::uint64_t> message_;
  const wire::Answer* answer_ = nullptr;
};

}  // namespace cleave::remote::client
