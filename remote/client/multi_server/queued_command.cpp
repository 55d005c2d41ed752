#include "remote/client/multi_server/queued_command.h"

#include <algorithm>

#include "remote/client/api/api.h"

namespace cleave::remote::client::multi_server {

QueuedCommand::QueuedCommand(const Call& call, OrderedCommand::Kind kind) : call_(call) {
  Object* const queue = find(call.queue);
  if (queue == nullptr) {
    error = CL_INVALID_COMMAND_QUEUE;
    return;
  }
  const QueueState& state = state_of<QueueState>(*queue);
  connection_ = state.connection;
  shard_context_ = state.context;
  context_ = program_context(state.context);
  order_ = context_of(*context_).order;
  ordered_ = std::make_shared<OrderedCommand>(*queue);
  ordered_->in_order = (state.properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  ordered_->shard = shard_of(state);
  ordered_->kind = kind;
  error = connection_->alive() ? resolve_wait_list() : kConnectionLost;
}

cl_int QueuedCommand::resolve_wait_list() {
  if (call_.wait_count != 0 && call_.wait_list == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
  // The driver decides whether it accepts such a list. The command's own list may get a gate.
  if (call_.wait_count == 0 && call_.wait_list != nullptr)
    return client::clEnqueueMarkerWithWaitList(call_.queue, 0, call_.wait_list, nullptr);
  for (cl_uint i = 0; i < call_.wait_count; ++i) {
    Object* const event = find(call_.wait_list[i]);
    if (event == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
    const EventState& state = state_of<EventState>(*event);
    if (program_context(state.context) != context_) return CL_INVALID_CONTEXT;
    ordered_->waits.emplace_back(*event);
    if (state.context == shard_context_) {
      local_waits_.push_back(call_.wait_list[i]);
    } else if (state.status.load(std::memory_order_acquire) != CL_COMPLETE) {
      remote_waits_.push_back(event);
    }
  }
  return CL_SUCCESS;
}

CompositeMemory* QueuedCommand::memory(cl_mem handle) {
  if (error != CL_SUCCESS) return nullptr;
  const Object* const object = find(handle);
  if (object == nullptr) return error = CL_INVALID_MEM_OBJECT, nullptr;
  if (state_of<MemoryState>(*object).context != context_) return error = CL_INVALID_CONTEXT, nullptr;
  return &state_of<CompositeMemory>(*object);
}

cl_mem QueuedCommand::use(cl_mem handle, Access access) {
  const CompositeMemory* const composite = memory(handle);
  if (composite == nullptr) return nullptr;
  const cl_mem here = composite->shards[ordered_->shard];
  if (here == nullptr) return error = kConnectionLost, nullptr;
  use(composite->coherence, access);
  return here;
}

void QueuedCommand::use(const std::shared_ptr<CoherenceState>& coherence, Access access) {
  // With a wait list the command may never run, which must leave the contents as they are.
  if (access == Access::overwrite && call_.wait_count != 0) access = Access::write;
  const auto same = std::find_if(ordered_->uses.begin(), ordered_->uses.end(),
                                 [&](const OrderedCommand::Used& one) { return one.coherence == coherence; });
  if (same == ordered_->uses.end()) {
    ordered_->uses.push_back({coherence, access});
  } else if (same->access != access) {
    same->access = Access::write;
  }
}

cl_int QueuedCommand::begin() {
  Dependencies dependencies;
  const CommandOrder::Decision decision = order_->submit(ordered_, dependencies);
  if (decision == CommandOrder::Decision::lost) return kConnectionLost;
  submitted_ = true;
  deferred_ = decision == CommandOrder::Decision::deferred;
  const cl_int result = make_gate(deferred_, dependencies);
  if (!deferred_) begin_work(dependencies, result == CL_SUCCESS ? gate_.get() : nullptr);
  if (gate_ != nullptr && result == CL_SUCCESS) gate_->resolve_one(CL_COMPLETE);
  return result;
}

// Creates the gate if there is something to wait for. A list of events that have all ended on other servers still counts:
// for markers and barriers an empty list means everything that was enqueued.
cl_int QueuedCommand::make_gate(bool deferred, const Dependencies& dependencies) {
  gate_ = ordered_->gate;
  const bool stands_for_list =
      ordered_->kind != OrderedCommand::Kind::command && call_.wait_count != 0 && local_waits_.empty();
  if (gate_ == nullptr && remote_waits_.empty() && (deferred || dependencies.operations.empty()) &&
      !stands_for_list)
    return CL_SUCCESS;
  if (gate_ == nullptr) gate_ = std::make_shared<Gate>();
  cl_int result = CL_SUCCESS;
  const cl_event gate = gate_->create_event(*shard_context_, result);
  if (gate == nullptr) return result;
  local_waits_.push_back(gate);
  for (Object* const event : remote_waits_) gate_->wait_for(*event);
  return CL_SUCCESS;
}

bool QueuedCommand::needs_event(bool blocking) const {
  return call_.event != nullptr || blocking || deferred_ || !ordered_->uses.empty();
}

// The command has been sent, or could not be sent.
cl_int QueuedCommand::record_outcome(cl_int result, cl_event made) {
  if (result != CL_SUCCESS) {
    if (submitted_) order_->withdraw(ordered_);
    return result;
  }
  if (made == nullptr) return CL_SUCCESS;
  ordered_->operation->bind_event(object_of(made));
  if (deferred_) {
    // It may end before it is decided: when it fails, for a marker that ends early with some drivers, or with a server
    // that misbehaves.
    ordered_->operation->on_end([order = order_](cl_int) { order->decide_pending(); });
  }
  return CL_SUCCESS;
}

cl_int QueuedCommand::finish(cl_event made, bool blocking) {
  const cl_int result = blocking ? wait_for_end(made) : CL_SUCCESS;
  if (call_.event != nullptr && result == CL_SUCCESS) {
    *call_.event = made;
  } else {
    client::clReleaseEvent(made);
  }
  return result;
}

}  // namespace cleave::remote::client::multi_server
