// A command of the program's in a queue of a context over several servers.
//
//   QueuedCommand command({queue, wait_count, wait_list, event});
//   const cl_mem here = command.use(buffer, Access::read);
//   return command.run([&](auto... wait) {
//     return client::clEnqueue...(queue, here, ..., wait...);
//   });
//
// The function gets shards in place of composites, and in `wait` the last three arguments of a command: a wait list that the
// queue's server knows, in which a gate represents what it does not know, and where to put the event. It must not block.
// transfer() instead of run() is for commands with data of the program's; it blocks if the program wants that.
//
// Commands are ordered (command_order.h) in the order in which they are sent to their server: a command that is ordered
// later may wait for an earlier one, and in an in-order queue one that is sent later waits for an earlier one as well, so two
// different orders could deadlock. So a command waits for room in the connection's windows before it is ordered, and is then
// sent whatever they are: what fills them may be waiting for it.
//
// Not thread-safe: each call has its own.
#pragma once

#include <memory>
#include <vector>

#include "remote/client/link/connection.h"
#include "remote/client/multi_server/command_order.h"
#include "remote/client/multi_server/composite.h"

namespace cleave::remote::client::multi_server {

class QueuedCommand {
 public:
  struct Call {
    cl_command_queue queue;
    cl_uint wait_count;
    const cl_event* wait_list;
    cl_event* event;
  };

  explicit QueuedCommand(const Call& call, OrderedCommand::Kind kind = OrderedCommand::Kind::command);
  QueuedCommand(const QueuedCommand&) = delete;
  QueuedCommand& operator=(const QueuedCommand&) = delete;

  cl_int error = CL_SUCCESS;
  [[nodiscard]] std::size_t shard() const { return ordered_->shard; }
  [[nodiscard]] Object& context() const { return *context_; }

  // A memory object of the queue's context. Null otherwise, and `error` says why.
  CompositeMemory* memory(cl_mem handle);
  // Records its use, and returns its shard on the queue's server. Null like memory().
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
      const Connection::WindowReservation reservation = connection_->reserve_window(has_data, error);
      if (error != CL_SUCCESS) return error;
      cl_int result = begin();
      if (result == CL_SUCCESS) {
        const cl_event* const list = local_waits_.empty() ? nullptr : local_waits_.data();
        result =
            enqueue(static_cast<cl_uint>(local_waits_.size()), list, needs_event(blocking) ? &made : nullptr);
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
  Object* shard_context_ = nullptr;
  Object* context_ = nullptr;
  std::shared_ptr<CommandOrder> order_;
  std::shared_ptr<OrderedCommand> ordered_;
  std::shared_ptr<Gate> gate_;
  std::vector<cl_event> local_waits_;  // the wait list for the server
  std::vector<Object*> remote_waits_;  // events of other servers
  bool submitted_ = false;
  bool deferred_ = false;
};

}  // namespace cleave::remote::client::multi_server
