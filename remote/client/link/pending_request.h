// One request that is under way: what it waits for, and where the data goes.
//
// Who asks and waits has it on his stack; what nobody waits for (a read that does not block) is `owned_by_connection` by
// the connection, which calls `on_complete` when it has come and deletes it. Written by the thread that reads
// (connection.h) until `done`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "base/opencl.h"
#include "remote/client/link/box.h"
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

  // What came. Null where the connection has ended, or there is nothing but an error and a value.
  [[nodiscard]] const wire::Answer* answer() const { return answer_; }

  // `answer` points into `message`, which is copied only where there is something in it.
  void keep(const wire::Answer& answer, std::span<const std::byte> message) {
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

  // What comes over the socket, and counts there.
  [[nodiscard]] std::uint64_t payload() const { return place ? 0 : destination.bytes(); }

  Box destination;       // where a payload goes in the program's memory; or
  bool collect = false;  // it goes into `collected`
  std::vector<std::byte> collected;
  cl_int error = CL_SUCCESS;
  std::uint64_t value = 0;
  std::uint64_t received = 0;  // of its data, which may come in parts
  SharedArea::Place place;     // through which it comes, if not over the socket
  bool in_ring = false;        // and not at once: whoever waits takes it out
  bool answer_at_end = false;  // the answer comes when the command has ended, as that of a read always does
  bool owned_by_connection = false;
  // Of a read that nobody waits for: its queue, its event, and whether what comes later there ends later.
  Id queue = 0;
  Id event = 0;
  bool in_order = false;
  // Who hears of this answer knows that all that was sent for this queue before has ended; and whether that
  // is all that was asked.
  Id ends = 0;
  bool is_finish = false;
  // By the connection: which request it is, counted from its beginning, which ids were chosen later than it
  // was sent, and that the program has been told of its end: nothing may be written into its memory any more.
  std::uint64_t sequence = 0;
  Id first_later_id = 0;
  bool destination_released = false;
  std::function<void(PendingRequest&)> on_complete;
  std::atomic<bool> done{false};

 private:
  std::vector<std::uint64_t> message_;
  const wire::Answer* answer_ = nullptr;
};

}  // namespace cleave::remote::client
