// A command of the program's on a queue of a context over several servers.
//
//   Turn turn({queue, waits, wait_list, event});
//   const cl_mem here = turn.use(buffer, Access::read);
//   return turn.run([&](const Waits& w) { return client::clEnqueue...(queue, here, ..., w.count, w.list,
//   w.event); });
//
// transfer() instead of run() is for what brings the program's data or asks for some. The function is called
// with parts in the place of wholes, and with a wait list that the queue's server knows: what it does not
// know a gate stands for. It must not block; transfer() does, if the program wants it.
//
// Commands are decided on in the order in which they are sent to their server: what is decided on later may
// wait for what was before, and on a queue in order what is sent later waits for what was before, too; else
// both would wait for each other. So room in the connection's windows is awaited before, and what has been
// decided on is sent whatever they are: what fills them may be waiting for it.
//
// Not thread-safe: each call has its own.
#pragma once

#include <memory>
#include <vector>

#include "remote/client/multi_server/command_order.h"

namespace cleave::remote::client::multi_server {

struct Waits {
  cl_uint count;
  const cl_event* list;
  cl_event* event;
};

class QueuedCommand {
 public:
  struct Call {
    cl_command_queue queue;
    cl_uint waits;
    const cl_event* wait_list;
    cl_event* event;
  };

  explicit QueuedCommand(const Call& call, OrderedCommand::Kind kind = OrderedCommand::Kind::command);
  QueuedCommand(const QueuedCommand&) = delete;
  QueuedCommand& operator=(const QueuedCommand&) = delete;

  cl_int error = CL_SUCCESS;
  [[nodiscard]] std::size_t shard() const { return entry_->shard; }
  [[nodiscard]] Object& context() const { return *context_; }

  // The object behind the handle, if it is one of the queue's context; else null, and `error` says why.
  CompositeMemory* memory(cl_mem handle);
  // Its part here; null like memory(). An access to all of it is one that overwrites where nothing can come
  // between.
  cl_mem use(cl_mem handle, Access access);
  void use(const std::shared_ptr<CoherenceState>& coherence, Access access);

  template <typename Enqueue>
  cl_int run(Enqueue enqueue) {
    return run(false, false, enqueue);
  }
  template <typename Enqueue>
  cl_int transfer(bool blocking, Enqueue enqueue) {
    return run(true, blocking, enqueue);
  }

 private:
  template <typename Enqueue>
  cl_int run(bool has_data, bool blocking, Enqueue enqueue) {
    if (error != CL_SUCCESS) return error;
    cl_event made = nullptr;
    {
      const Connection::WindowReservation lock = connection_->reserve_window(has_data, error);
      if (error != CL_SUCCESS) return error;
      cl_int result = begin();
      if (result == CL_SUCCESS) {
        const cl_event* const list = local_waits_.empty() ? nullptr : local_waits_.data();
        result = enqueue(
            Waits{static_cast<cl_uint>(local_waits_.size()), list, needs_event(blocking) ? &made : nullptr});
      }
      result = record_outcome(result, made);
      if (result != CL_SUCCESS || made == nullptr) return result;
    }
    return finish(made, blocking);
  }

  cl_int resolve_wait_list();
  cl_int begin();
  cl_int make_gate(bool deferred, const Dependencies& dependencies);
  cl_int record_outcome(cl_int result, cl_event made);
  cl_int finish(cl_event made, bool blocking);
  [[nodiscard]] bool needs_event(bool blocking) const;

  const Call call_;
  Connection* connection_ = nullptr;
  Object* part_context_ = nullptr;
  Object* context_ = nullptr;
  std::shared_ptr<CommandOrder> order_;
  std::shared_ptr<OrderedCommand> entry_;
  std::shared_ptr<Gate> gate_;
  std::vector<cl_event> local_waits_;  // the wait list that the server is given
  std::vector<Object*> remote_waits_;  // events that it does not know
  bool submitted_ = false;
  bool deferred_ = false;
};

}  // namespace cleave::remote::client::multi_server
