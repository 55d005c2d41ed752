// What every enqueueing function does: check the queue and the wait list, create the event, send the command.
//
//   Command command({queue, wait_count, wait_list, event, CL_COMMAND_...});
//   if (command.error != CL_SUCCESS) return command.error;
//   return command.send(...);           // certainly valid: returns at once
//   return command.send_checked(...);   // possibly invalid: waits until the driver has accepted or refused it
//   return command.send_blocking(...);  // waits until it has ended
//   return command.send_write(...);     // its data comes from the program's memory; blocks if the program wants that
//   return command.send_read(...);      // its data goes there; may block, too
//
// Not thread-safe: each call has its own.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "remote/client/api/events.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/event_status.h"
#include "remote/client/objects/object_state.h"

namespace cleave::remote::client {

class Command {
 public:
  struct Call {
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event* wait_list;
    cl_event* event;
    cl_command_type type;
  };

  explicit Command(const Call& call) : call_(call) { error = check_arguments(); }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() {
    if (event_ != nullptr) discard_event();
  }

  cl_int error;
  [[nodiscard]] QueueState& queue() const { return *queue_; }
  [[nodiscard]] Connection& connection() const { return *queue_->connection; }

  [[nodiscard]] bool is_in_order() const {
    return (queue_->properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  }

  // The driver is to decide whether it is valid: it is sent with an answer.
  void doubt() { must_check_ = true; }

  // The state of a memory object of the queue's context. Null otherwise, and `error` says why.
  MemoryState* memory(cl_mem handle) {
    if (error != CL_SUCCESS) return nullptr;
    Object* const object = find(handle);
    if (object == nullptr) return error = CL_INVALID_MEM_OBJECT, nullptr;
    MemoryState& state = state_of<MemoryState>(*object);
    if (state.context != queue_->context) return error = CL_INVALID_CONTEXT, nullptr;
    return &state;
  }

  // `region`: that has the data, and to which it belongs until the command has ended; null: none.
  template <typename Make>
  cl_int send(Make make, const Box& data = {}, std::shared_ptr<const MapRegion> region = nullptr) {
    if (must_check_) return send_checked(make, data);
    if (region == nullptr) return finish(post(false, make, data));
    if (!make_event(true)) return CL_OUT_OF_HOST_MEMORY;
    return finish(connection().post_in_region(header(), data, std::move(region), make));
  }

  template <typename Make>
  cl_int send_checked(Make make, const Box& data = {}) {
    if (!make_event(false)) return CL_OUT_OF_HOST_MEMORY;
    return finish(connection().call(header(), make, data));
  }

  template <typename Make>
  cl_int send_blocking(Make make, const Box& data = {}) {
    if (call_.event == nullptr && connection().supports(Feature::end_answers) &&
        connection().uses_socket_only(data.bytes()))
      return call_until_end(make, data);
    const cl_int sent = post(true, make, data);
    if (sent != CL_SUCCESS) return finish(sent);
    const EventState& event = state_of<EventState>(*event_);
    connection().wait([&] { return is_over(event); });
    return finish(is_over(event) ? std::min(event.status.load(), CL_SUCCESS) : kConnectionLost);
  }

  template <typename Make>
  cl_int send_write(bool blocking, const Box& data, Make make) {
    return blocking ? send_blocking(make, data) : send(make, data);
  }

  template <typename Make>
  cl_int send_read(bool blocking, const Box& box, Make make,
                   std::shared_ptr<const MapRegion> region = nullptr) {
    if (!make_event(false)) return CL_OUT_OF_HOST_MEMORY;
    if (blocking && region != nullptr) return finish(read_into_region(box, make, std::move(region)));
    if (blocking) return finish(read_blocking(box, make));
    auto pending = std::unique_ptr<PendingRequest>(new (std::nothrow) PendingRequest(box));
    if (pending == nullptr) return CL_OUT_OF_HOST_MEMORY;
    pending->owned_by_connection = true;
    pending->queue = queue_->id;
    pending->event = header().event;
    pending->in_order = is_in_order();
    pending->region = std::move(region);
    if (pending->region == nullptr) pending->place = connection().share(box.bytes());
    return finish(read_async(std::move(pending), make));
  }

 private:
  // Creates the command's event if the program wants one, or it is needed. False: no memory.
  bool make_event(bool needed);
  // Gives the program its event if there is no error, and discards the event otherwise.
  cl_int finish(cl_int result);
  [[nodiscard]] CommandHeader header() const;

  // A blocking command without an event: the server answers at its end.
  template <typename Make>
  cl_int call_until_end(Make make, const Box& data) {
    PendingRequest pending;
    pending.answer_at_end = true;
    pending.ends_queue = is_in_order() ? queue_->id : 0;
    return connection().call(header(), pending, make, data);
  }

  // Sends it without an answer. With data in shared memory it needs an event, whether the program wants one or not.
  template <typename Make>
  cl_int post(bool needs_event, Make make, const Box& data) {
    const bool in_ring = fits_ring<Make>(data);
    SharedArea::Place place =
        in_ring ? connection().share_ring(data.bytes()) : connection().share(data.bytes());
    if (!make_event(needs_event || place)) return CL_OUT_OF_HOST_MEMORY;
    if (!place) return connection().post_data(header(), data, make);
    return in_ring ? connection().post_ring(header(), data, std::move(place), make)
                   : connection().post_shared(header(), data, std::move(place), make);
  }

  // The answer comes with the data, and an error if the driver refuses the command.
  template <typename Make>
  cl_int read_async(std::unique_ptr<PendingRequest> pending, Make make) {
    const auto refusal = must_check_ ? std::make_shared<std::atomic<cl_int>>(CL_SUCCESS) : nullptr;
    if (refusal != nullptr)
      pending->on_complete = [refusal](PendingRequest& read) { refusal->store(read.error); };
    const cl_int sent = connection().call_async(header(), *pending, make);
    if (sent != CL_SUCCESS) return sent;
    static_cast<void>(pending.release());  // owned by the connection from here on
    if (refusal == nullptr) return CL_SUCCESS;
    wait_for_acceptance();
    return refusal->load();
  }

  template <typename Make>
  cl_int read_into_region(const Box& box, Make make, std::shared_ptr<const MapRegion> region) {
    PendingRequest pending(box);
    pending.ends_queue = is_in_order() ? queue_->id : 0;
    pending.region = std::move(region);
    return connection().call(header(), pending, make);
  }

  template <typename Make>
  cl_int read_blocking(const Box& box, Make make) {
    auto place =
        fits_ring<Make>(box) ? connection().share_ring(box.bytes()) : connection().share(box.bytes());
    const bool in_ring = place && fits_ring<Make>(box);
    // A ring makes progress only when the device does, and keeps other threads from sending. So earlier commands are
    // waited for first.
    if (in_ring && box.bytes() > Ring::capacity(place) && connection().has_commands_in_flight()) {
      const cl_int error = connection().call({.queue = queue_->id, .urgent = queue_->urgent},
                                             [](auto& b) { return wire::CreateFinishQueue(b); });
      if (error != CL_SUCCESS) return error;
    }
    PendingRequest pending(box);
    pending.ends_queue = is_in_order() ? queue_->id : 0;
    pending.place = std::move(place);
    return in_ring ? connection().call_through_ring(header(), pending, make)
                   : connection().call(header(), pending, make);
  }

  // Whether its data can be transferred slice by slice: contiguous memory on the server, on an in-order queue.
  template <typename Make>
  [[nodiscard]] bool fits_ring(const Box& data) const {
    using Body =
        typename OffsetTarget<decltype(std::declval<Make>()(std::declval<Connection::Builder&>()))>::type;
    constexpr bool kContiguous = std::is_same_v<Body, wire::ReadBuffer> ||
                                 std::is_same_v<Body, wire::WriteBuffer> ||
                                 std::is_same_v<Body, wire::SvmRead> || std::is_same_v<Body, wire::SvmWrite>;
    return kContiguous && data.bytes() > Ring::kMinBytes && connection().supports_rings() && is_in_order();
  }

  cl_int check_arguments();
  // Returns when the driver has accepted or refused what was sent last.
  void wait_for_acceptance();
  void discard_event();

  const Call call_;
  Object* object_ = nullptr;
  QueueState* queue_ = nullptr;
  Object* event_ = nullptr;
  bool must_check_ = false;           // it may be invalid
  bool has_empty_wait_list_ = false;  // and it is unknown whether the driver accepts that
  std::array<Id, 8> inline_ids_{};
  std::vector<Id> heap_ids_;
};

}  // namespace cleave::remote::client
