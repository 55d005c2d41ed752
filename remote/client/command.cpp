#include "remote/client/command.h"

namespace cleave::remote::client {

cl_int Command::take() {
  object_ = find(call_.queue);
  if (object_ == nullptr) return CL_INVALID_COMMAND_QUEUE;
  queue_ = &body_of<QueueBody>(*object_);
  // An empty list that is not null is an error by the letter, which drivers do not mind and programs do.
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
  return CL_SUCCESS;
}

Head Command::head() const {
  const Id* const ids = many_.empty() ? few_.data() : many_.data();
  return {
      queue_->id, event_ == nullptr ? 0 : body_of<EventBody>(*event_).id, {ids, call_.waits}, queue_->urgent};
}

bool Command::make_event(bool needed) {
  if (call_.event == nullptr && !needed) return true;
  event_ = client::make_event(*object_, call_.type);
  if (event_ == nullptr) return false;
  connection().expect(*event_);
  return true;
}

cl_int Command::hand_out(cl_int result) {
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
