#include "remote/client/command.h"

namespace cleave::remote::client {
namespace {

// In QueueBody::takes_no_events. Other extensions' commands have none: they are asked about each time.
std::uint64_t bit_of(cl_command_type type) {
  const cl_uint place = type - CL_COMMAND_NDRANGE_KERNEL;
  return place < 64 ? std::uint64_t{1} << place : 0;
}

}  // namespace

cl_int Command::take() {
  object_ = find(call_.queue);
  if (object_ == nullptr) return CL_INVALID_COMMAND_QUEUE;
  queue_ = &body_of<QueueBody>(*object_);
  if (call_.waits != 0 && call_.wait_list == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
  if (call_.waits > few_.size()) many_.resize(call_.waits);
  Id* const ids = many_.empty() ? few_.data() : many_.data();
  for (cl_uint i = 0; i < call_.waits; ++i) {
    const Object* const event = find(call_.wait_list[i]);
    if (event == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
    const EventBody& body = body_of<EventBody>(*event);
    if (body.connection != queue_->connection) return CL_INVALID_CONTEXT;
    doubtful_ |= body.context != queue_->context;  // not all drivers mind
    ids[i] = body.id;
  }
  // An error by the letter, which not all drivers mind, and which programs do.
  has_empty_list_ = call_.waits == 0 && call_.wait_list != nullptr &&
                    (queue_->takes_no_events.load(std::memory_order_relaxed) & bit_of(call_.type)) == 0;
  doubtful_ |= has_empty_list_;
  return CL_SUCCESS;
}

void Command::await_opinion() {
  Pending pending;
  connection().ask({}, pending, [&](auto& b) {
    return wire::CreateQuery(b, wire::What::queue, queue_->id, 0, CL_QUEUE_PROPERTIES);
  });
}

Head Command::head() const {
  const Id* const ids = many_.empty() ? few_.data() : many_.data();
  const Id event = event_ == nullptr ? 0 : body_of<EventBody>(*event_).id;
  return {queue_->id, event, {ids, call_.waits}, queue_->urgent, has_empty_list_};
}

bool Command::make_event(bool needed) {
  if (call_.event == nullptr && !needed) return true;
  event_ = client::make_event(*object_, call_.type);
  if (event_ == nullptr) return false;
  connection().expect(*event_);
  return true;
}

cl_int Command::hand_out(cl_int result) {
  if (has_empty_list_ && result == CL_SUCCESS)
    queue_->takes_no_events.fetch_or(bit_of(call_.type), std::memory_order_relaxed);
  if (event_ == nullptr) return result;
  if (result == CL_SUCCESS && call_.event != nullptr) {
    *call_.event = objects::handle_of<cl_event>(event_);
    event_ = nullptr;
  } else {
    discard_event();
  }
  return result;
}

void Command::discard_event() {
  connection().forget(*event_);
  if (client.objects.release(*event_) == objects::Objects::Left::none) client.objects.bury(*event_);
  event_ = nullptr;
}

}  // namespace cleave::remote::client
