#include "remote/client/events.h"

#include <algorithm>
#include <utility>

#include "remote/client/api.h"
#include "remote/client/queries.h"
#include "remote/client/state.h"

namespace cleave::remote::client {
namespace {

// A call for a status is due when that, or a later one, is reached. What it is told is the status that it
// asked for, or the error.
void call(Object& event, const EventBody::Call& call, cl_int status) {
  client.objects.hold(event);
  (call.ours ? client.relays : client.callbacks).post([&event, call, status] {
    call.function(objects::handle_of<cl_event>(&event), status < 0 ? status : call.status, call.user_data);
    client.objects.drop(event);
  });
}

// The program's user events that are not set, where commands may be waiting for them.
void count_user_event(const EventBody& event, int by) {
  event.connection->count_user_event(by);
  for (Connection* const other : body_of<ContextBody>(*event.context).beside) other->count_user_event(by);
}

// Adds the call, or makes it if it is due. Whether it was added.
bool add_call(Object& event, const EventBody::Call& wanted) {
  EventBody& body = body_of<EventBody>(event);
  cl_int now = CL_QUEUED;
  {
    const std::scoped_lock lock(body.mutex);
    now = body.status.load(std::memory_order_relaxed);
    if (now > wanted.status) {
      body.connection->expect_more(1);
      body.calls.push_back(wanted);
    }
  }
  if (now <= wanted.status) call(event, wanted, now);
  return now > wanted.status;
}

void wait_for_one(const EventBody& event) {
  event.connection->wait([&] { return is_over(event); });
}

// Before its end the server knows better than we do.
cl_int current_status(const EventBody& event) {
  const cl_int known = event.status.load(std::memory_order_acquire);
  if (known <= CL_COMPLETE || event.queue == nullptr || !event.connection->alive()) return known;
  Pending pending;
  const cl_int error = event.connection->ask({}, pending, [&](auto& b) {
    return wire::CreateQuery(b, wire::What::event, event.id, 0, CL_EVENT_COMMAND_EXECUTION_STATUS);
  });
  cl_int now = known;
  if (error == CL_SUCCESS && bytes_of(pending).size() == sizeof now) {
    std::memcpy(&now, bytes_of(pending).data(), sizeof now);
  }
  if (now <= CL_COMPLETE) wait_for_one(event);  // what there is to know of its end is on its way
  const cl_int known_by_now = event.status.load(std::memory_order_acquire);
  return known_by_now <= CL_COMPLETE ? known_by_now : std::max(now, CL_RUNNING);
}

}  // namespace

void set_status(Object& event, cl_int status) {
  EventBody& body = body_of<EventBody>(event);
  std::vector<EventBody::Call> due;
  {
    const std::scoped_lock lock(body.mutex);
    if (body.status.load(std::memory_order_relaxed) <= status && !(status < 0 && !is_over(body))) return;
    body.status.store(status, std::memory_order_release);
    const auto first_due =
        std::stable_partition(body.calls.begin(), body.calls.end(),
                              [&](const EventBody::Call& one) { return one.status < status; });
    due.assign(first_due, body.calls.end());
    body.calls.erase(first_due, body.calls.end());
  }
  body.connection->expect_more(-static_cast<int>(due.size()));
  for (const EventBody::Call& one : due) call(event, one, status);
}

Object* make_event(Object& queue, cl_command_type command) {
  const QueueBody& of = body_of<QueueBody>(queue);
  const auto both = prepare<EventBody>(queue, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return nullptr;
  body->queue = &queue;
  body->context = of.context;
  body->command = command;
  return &client.objects.publish(*object, static_cast<Body*>(body));
}

EventBody::~EventBody() {
  if (counted) count_user_event(*this, -1);
}

void tell_end(Object& event, EventBody::Notify function, void* user_data) {
  add_call(event, {CL_COMPLETE, function, user_data, true});
  body_of<EventBody>(event).connection->flush();
}

cl_event make_user_event(Object& context, SetBy by, cl_int* error_ret) {
  Connection& connection = *body_of<ContextBody>(context).connection;
  const auto both = prepare<EventBody>(context, connection, connection.new_id());
  auto* const object = both.first;
  auto* const body = both.second;
  if (object == nullptr) return fail<cl_event>(error_ret, CL_OUT_OF_HOST_MEMORY);
  body->context = &context;
  body->command = CL_COMMAND_USER;
  body->status.store(CL_SUBMITTED);
  body->counted = by == SetBy::program;
  if (body->counted) count_user_event(*body, 1);
  const cl_int error = connection.post({}, [&](auto& b) {
    return wire::CreateCreateUserEvent(b, body->id, body_of<ContextBody>(context).id);
  });
  if (error != CL_SUCCESS) {
    delete body;
    client.objects.discard(*object);
    return fail<cl_event>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_event>(&client.objects.publish(*object, static_cast<Body*>(body)));
}

cl_event CL_API_CALL clCreateUserEvent(cl_context handle, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_event>(error_ret, CL_INVALID_CONTEXT);
  return make_user_event(*context, SetBy::program, error_ret);
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event handle, cl_int status) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  EventBody& body = body_of<EventBody>(*event);
  if (body.queue != nullptr) return CL_INVALID_EVENT;
  if (status > CL_COMPLETE) return CL_INVALID_VALUE;
  {
    const std::scoped_lock lock(body.mutex);
    if (is_over(body) || body.is_set) return CL_INVALID_OPERATION;
    body.is_set = true;
  }
  if (std::exchange(body.counted, false)) count_user_event(body, -1);
  const cl_int error =
      body.connection->post({}, [&](auto& b) { return wire::CreateSetUserEventStatus(b, body.id, status); });
  set_status(*event, status);
  // Whoever waits for this event reads from the server, and what comes wakes it.
  if (error == CL_SUCCESS) body.connection->ring();
  return error;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* list) {
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i) {
    if (find(list[i]) == nullptr) return CL_INVALID_EVENT;
    if (known_context(body_of<EventBody>(*find(list[i])).context) !=
        known_context(body_of<EventBody>(*find(list[0])).context))
      return CL_INVALID_CONTEXT;
  }
  bool failed = false;
  for (cl_uint i = 0; i < count; ++i) {
    const EventBody& event = body_of<EventBody>(*find(list[i]));
    wait_for_one(event);
    if (!is_over(event)) return kGone;  // the program's own, and there is no connection to wait on
    failed |= event.status.load(std::memory_order_relaxed) < 0;
  }
  return failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

cl_int CL_API_CALL clSetEventCallback(cl_event handle, cl_int status, EventBody::Notify function,
                                      void* user_data) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  if (function == nullptr || status < CL_COMPLETE || status > CL_SUBMITTED) return CL_INVALID_VALUE;
  const EventBody& body = body_of<EventBody>(*event);
  if (add_call(*event, {status, function, user_data}) && status != CL_COMPLETE && body.queue != nullptr) {
    body.connection->post({}, [&](auto& b) { return wire::CreateWatchEvent(b, body.id); });
  }
  body.connection->flush();
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetEventInfo(cl_event handle, cl_event_info name, size_t size, void* value,
                                  size_t* size_ret) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  const EventBody& body = body_of<EventBody>(*event);
  const Answer answer{size, value, size_ret};
  switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
      return answer.give(objects::handle_of<cl_command_queue>(body.queue));
    case CL_EVENT_CONTEXT:
      return answer.give(objects::handle_of<cl_context>(known_context(body.context)));
    case CL_EVENT_COMMAND_TYPE:
      return answer.give(body.command);
    case CL_EVENT_REFERENCE_COUNT:
      return answer.give(references(*event));
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return answer.give(value == nullptr ? CL_QUEUED : current_status(body));
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info name, size_t size, void* value,
                                           size_t* size_ret) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  const EventBody& body = body_of<EventBody>(*event);
  if (body.queue == nullptr) return CL_PROFILING_INFO_NOT_AVAILABLE;
  const bool profiles = (body_of<QueueBody>(*body.queue).properties.load() & CL_QUEUE_PROFILING_ENABLE) != 0;
  if (!profiles || current_status(body) != CL_COMPLETE || !body.has_times)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_COMPLETE) return CL_INVALID_VALUE;
  return Answer{size, value, size_ret}.give(body.times[name - CL_PROFILING_COMMAND_QUEUED]);
}

}  // namespace cleave::remote::client
