#include "remote/client/api/command.h"

namespace cleave::remote::client {
namespace {

// The bit in QueueState::accepts_empty_wait_list. Commands of extensions have none and are checked each time.
std::uint64_t bit_of(cl_command_type type) {
  const cl_uint place = type - CL_COMMAND_NDRANGE_KERNEL;
  return place < 64 ? std::uint64_t{1} << place : 0;
}

}  // namespace

cl_int Command::check_arguments() {
  object_ = find(call_.queue);
  if (object_ == nullptr) return CL_INVALID_COMMAND_QUEUE;
  queue_ = &state_of<QueueState>(*object_);
  if (call_.wait_count != 0 && call_.wait_list == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
  if (call_.wait_count > inline_ids_.size()) heap_ids_.resize(call_.wait_count);
  Id* const ids = heap_ids_.empty() ? inline_ids_.data() : heap_ids_.data();
  for (cl_uint i = 0; i < call_.wait_count; ++i) {
    const Object* const event = find(call_.wait_list[i]);
    if (event == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
    const EventState& state = state_of<EventState>(*event);
    if (state.connection != queue_->connection) return CL_INVALID_CONTEXT;
    must_check_ |= state.context != queue_->context;  // an error, which some drivers tolerate
    ids[i] = state.id;
  }
  // An error by the specification that some drivers tolerate and some programs rely on.
  has_empty_wait_list_ =
      call_.wait_count == 0 && call_.wait_list != nullptr &&
      (queue_->accepts_empty_wait_list.load(std::memory_order_relaxed) & bit_of(call_.type)) == 0;
  must_check_ |= has_empty_wait_list_;
  return CL_SUCCESS;
}

void Command::wait_for_acceptance() {
  connection().call({}, [&](auto& b) {
    return wire::CreateQuery(b, wire::InfoSubject::queue, queue_->id, 0, CL_QUEUE_PROPERTIES);
  });
}

CommandHeader Command::header() const {
  const Id* const ids = heap_ids_.empty() ? inline_ids_.data() : heap_ids_.data();
  const Id event = event_ == nullptr ? 0 : state_of<EventState>(*event_).id;
  return {queue_->id, event, {ids, call_.wait_count}, queue_->urgent, has_empty_wait_list_};
}

bool Command::make_event(bool needed) {
  if (call_.event == nullptr && !needed) return true;
  event_ = client::make_event(*object_, call_.type);
  if (event_ == nullptr) return false;
  connection().expect(*event_);
  return true;
}

cl_int Command::finish(cl_int result) {
  if (has_empty_wait_list_ && result == CL_SUCCESS)
    queue_->accepts_empty_wait_list.fetch_or(bit_of(call_.type), std::memory_order_relaxed);
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
  if (client.objects.release(*event_) == objects::Objects::Remaining::none) client.objects.reap(*event_);
  event_ = nullptr;
}

}  // namespace cleave::remote::client
