// What every function that enqueues does: look at the queue and the wait list, make the event, send the
// command.
//
//   Command command({queue, waits, wait_list, event, CL_COMMAND_...});
//   if (command.error != CL_SUCCESS) return command.error;
//   return command.send(...)      what is certainly valid: nobody waits
//          command.send_asked(...) what may not be: waits until the driver has taken or refused it
//          command.send_blocking(...) waits until it has ended
//
// Not thread-safe: each call has its own.
#pragma once

#include <array>
#include <vector>

#include "remote/client/bodies.h"
#include "remote/client/connection.h"
#include "remote/client/events.h"
#include "remote/client/state.h"

namespace cleave::remote::client {

class Command {
 public:
  struct Call {
    cl_command_queue queue;
    cl_uint waits;
    const cl_event* wait_list;
    cl_event* event;
    cl_command_type type;
  };

  explicit Command(const Call& call) : call_(call) { error = take(); }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() {
    if (event_ != nullptr) discard_event();
  }

  cl_int error;
  [[nodiscard]] QueueBody& queue() const { return *queue_; }
  [[nodiscard]] Object& queue_object() const { return *object_; }
  [[nodiscard]] Connection& connection() const { return *queue_->connection; }

  // The memory object, if it is one of the queue's context; else null, and `error` says why.
  MemoryBody* memory(cl_mem handle) {
    Object* const object = find(handle);
    if (object == nullptr) return error = CL_INVALID_MEM_OBJECT, nullptr;
    MemoryBody& body = body_of<MemoryBody>(*object);
    if (body.context != queue_->context) return error = CL_INVALID_CONTEXT, nullptr;
    return &body;
  }

  template <typename Make>
  cl_int send(Make make, const Box& data = {}) {
    if (doubtful_) return send_asked(make, data);
    if (!make_event(false)) return CL_OUT_OF_HOST_MEMORY;
    return hand_out(connection().post_data(head(), data, make));
  }

  template <typename Make>
  cl_int send_asked(Make make, const Box& data = {}) {
    if (!make_event(false)) return CL_OUT_OF_HOST_MEMORY;
    Pending pending;
    return hand_out(connection().ask(head(), pending, make, data));
  }

  template <typename Make>
  cl_int send_blocking(Make make, const Box& data = {}) {
    if (!make_event(true)) return CL_OUT_OF_HOST_MEMORY;
    const cl_int sent = connection().post_data(head(), data, make);
    if (sent != CL_SUCCESS) return hand_out(sent);
    const EventBody& event = body_of<EventBody>(*event_);
    connection().wait([&] { return is_over(event); });
    return hand_out(is_over(event) ? std::min(event.status.load(), CL_SUCCESS) : kGone);
  }

  // A read: data lands in `box`.
  template <typename Make>
  cl_int send_read(bool blocking, const Box& box, Make make) {
    if (!make_event(false)) return CL_OUT_OF_HOST_MEMORY;
    if (blocking) {
      Pending pending(box);
      return hand_out(connection().ask(head(), pending, make));
    }
    auto pending = std::unique_ptr<Pending>(new (std::nothrow) Pending(box));
    if (pending == nullptr) return CL_OUT_OF_HOST_MEMORY;
    pending->owned = true;
    const cl_int sent = connection().ask_later(head(), *pending, make);
    if (sent == CL_SUCCESS) static_cast<void>(pending.release());  // the connection's now
    return hand_out(sent);
  }

  // The program's event is the command's; it is told of the end.
  bool make_event(bool needed);
  // Gives the program its event where all went well, and takes it back where not.
  cl_int hand_out(cl_int result);
  [[nodiscard]] Head head() const;

 private:
  cl_int take();
  void discard_event();

  const Call call_;
  Object* object_ = nullptr;
  QueueBody* queue_ = nullptr;
  Object* event_ = nullptr;
  bool doubtful_ = false;
  std::array<Id, 8> few_{};
  std::vector<Id> many_;
};

}  // namespace cleave::remote::client
