#include "remote/client/spread/turn.h"

#include <algorithm>

#include "remote/client/api.h"
#include "remote/client/events.h"

namespace cleave::remote::client::spread {

Turn::Turn(const Call& call, Entry::Kind kind) : call_(call) {
  Object* const queue = find(call.queue);
  if (queue == nullptr) {
    error = CL_INVALID_COMMAND_QUEUE;
    return;
  }
  const QueueBody& body = body_of<QueueBody>(*queue);
  connection_ = body.connection;
  part_context_ = body.context;
  context_ = known_context(body.context);
  ordering_ = context_of(*context_).ordering;
  entry_ = std::make_shared<Entry>(*queue);
  entry_->in_order = (body.properties.load() & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  entry_->part = part_of(body);
  entry_->kind = kind;
  error = connection_->alive() ? take_waits() : kGone;
}

cl_int Turn::take_waits() {
  if (call_.waits != 0 && call_.wait_list == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
  // The driver is to say what it thinks of a list of no events. The command's own may have a gate in it.
  if (call_.waits == 0 && call_.wait_list != nullptr)
    return client::clEnqueueMarkerWithWaitList(call_.queue, 0, call_.wait_list, nullptr);
  for (cl_uint i = 0; i < call_.waits; ++i) {
    Object* const event = find(call_.wait_list[i]);
    if (event == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
    const EventBody& body = body_of<EventBody>(*event);
    if (known_context(body.context) != context_) return CL_INVALID_CONTEXT;
    entry_->waits.emplace_back(*event);
    if (body.context == part_context_) {
      here_.push_back(call_.wait_list[i]);
    } else if (body.status.load(std::memory_order_acquire) != CL_COMPLETE) {
      elsewhere_.push_back(event);
    }
  }
  return CL_SUCCESS;
}

WholeMemory* Turn::memory(cl_mem handle) {
  if (error != CL_SUCCESS) return nullptr;
  const Object* const object = find(handle);
  if (object == nullptr) return error = CL_INVALID_MEM_OBJECT, nullptr;
  if (body_of<MemoryBody>(*object).context != context_) return error = CL_INVALID_CONTEXT, nullptr;
  return &body_of<WholeMemory>(*object);
}

cl_mem Turn::use(cl_mem handle, Access access) {
  const WholeMemory* const whole = memory(handle);
  if (whole == nullptr) return nullptr;
  const cl_mem here = whole->parts[entry_->part];
  if (here == nullptr) return error = kGone, nullptr;
  use(whole->contents, access);
  return here;
}

void Turn::use(const std::shared_ptr<Contents>& contents, Access access) {
  // One that may come to nothing must leave the contents as they are.
  if (access == Access::overwrite && call_.waits != 0) access = Access::write;
  const auto same = std::find_if(entry_->uses.begin(), entry_->uses.end(),
                                 [&](const Entry::Used& one) { return one.contents == contents; });
  if (same == entry_->uses.end()) {
    entry_->uses.push_back({contents, access});
  } else if (same->access != access) {
    same->access = Access::write;
  }
}

cl_int Turn::begin() {
  Needs needs;
  const Ordering::Now now = ordering_->take(entry_, needs);
  if (now == Ordering::Now::lost) return kGone;
  begun_ = true;
  open_ = now == Ordering::Now::open;
  const cl_int result = shut(open_, needs);
  if (!open_) go(needs, result == CL_SUCCESS ? gate_.get() : nullptr);
  if (gate_ != nullptr && result == CL_SUCCESS) gate_->pass(CL_COMPLETE);
  return result;
}

// Makes the gate, if there is something to wait for. A list of nothing but events that have ended elsewhere
// is still one: for markers and barriers an empty one means all that has been enqueued.
cl_int Turn::shut(bool open, const Needs& needs) {
  gate_ = entry_->gate;
  const bool stands_for_list = entry_->kind != Entry::Kind::command && call_.waits != 0 && here_.empty();
  if (gate_ == nullptr && elsewhere_.empty() && (open || needs.steps.empty()) && !stands_for_list)
    return CL_SUCCESS;
  if (gate_ == nullptr) gate_ = std::make_shared<Gate>();
  cl_int result = CL_SUCCESS;
  const cl_event gate = gate_->make(*part_context_, result);
  if (gate == nullptr) return result;
  here_.push_back(gate);
  for (Object* const event : elsewhere_) gate_->wait_for(*event);
  return CL_SUCCESS;
}

bool Turn::needs_event(bool blocking) const {
  return call_.event != nullptr || blocking || open_ || !entry_->uses.empty();
}

// The command has been sent, or not.
cl_int Turn::settle(cl_int result, cl_event made) {
  if (result != CL_SUCCESS) {
    if (begun_) ordering_->take_back(entry_);
    return result;
  }
  if (made == nullptr) return CL_SUCCESS;
  entry_->step->follow(*find(made));
  if (open_) {
    // Of one that has failed nothing is to be decided, nor of a marker that a driver let end early, nor of
    // what a broken server says to have ended.
    entry_->step->when_over([ordering = ordering_](cl_int) { ordering->reconsider(); });
  }
  return CL_SUCCESS;
}

cl_int Turn::hand_out(cl_event made, bool blocking) {
  const cl_int result = blocking ? wait_for_end(made) : CL_SUCCESS;
  if (call_.event != nullptr && result == CL_SUCCESS) {
    *call_.event = made;
  } else {
    client::clReleaseEvent(made);
  }
  return result;
}

}  // namespace cleave::remote::client::spread
