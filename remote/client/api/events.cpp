#include "remote/client/api/events.h"

#include <algorithm>
#include <utility>

#include "remote/client/api/api.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

// A call for a status is due when that, or a later one, is reached. What it is told is the status that it
// asked for, or the error.
void call(Object& event, const EventState::Callback& call, cl_int status) {
  client.objects.hold(event);
  (call.internal ? client.internal_callbacks : client.callbacks).post([&event, call, status] {
    call.function(objects::handle_of<cl_event>(&event), status < 0 ? status : call.status, call.user_data);
    client.objects.drop(event);
  });
}

// The program's user events that are not set, where commands may be waiting for them.
void count_user_event(const EventState& event, int by) {
  event.connection->count_user_event(by);
  for (Connection* const other : state_of<ContextState>(*event.context).siblings) other->count_user_event(by);
}

// Adds the call, or makes it if it is due. Whether it was added.
bool add_callback(Object& event, const EventState::Callback& added) {
  EventState& state = state_of<EventState>(event);
  cl_int now = CL_QUEUED;
  {
    const std::scoped_lock lock(state.mutex);
    now = state.status.load(std::memory_order_relaxed);
    if (now > added.status) {
      state.connection->adjust_unawaited(1);
      state.callbacks.push_back(added);
    }
  }
  if (now <= added.status) call(event, added, now);
  return now > added.status;
}

void wait_for_event(const EventState& event) {
  event.connection->wait([&] { return is_over(event); });
}

// Before its end the server knows better than we do.
cl_int current_status(const EventState& event) {
  const cl_int known = event.status.load(std::memory_order_acquire);
  if (known <= CL_COMPLETE || event.queue == nullptr || !event.connection->alive()) return known;
  PendingRequest pending;
  const cl_int error = event.connection->call({}, pending, [&](auto& b) {
    return wire::CreateQuery(b, wire::InfoSubject::event, event.id, 0, CL_EVENT_COMMAND_EXECUTION_STATUS);
  });
  cl_int now = known;
  if (error == CL_SUCCESS && bytes_of(pending).size() == sizeof now) {
    std::memcpy(&now, bytes_of(pending).data(), sizeof now);
  }
  if (now <= CL_COMPLETE) wait_for_event(event);  // what there is to know of its end is on its way
  const cl_int known_by_now = event.status.load(std::memory_order_acquire);
  return known_by_now <= CL_COMPLETE ? known_by_now : std::max(now, CL_RUNNING);
}

}  // namespace

void set_status(Object& event, cl_int status) {
  EventState& state = state_of<EventState>(event);
  std::vector<EventState::Callback> due;
  {
    const std::scoped_lock lock(state.mutex);
    if (state.status.load(std::memory_order_relaxed) <= status && !(status < 0 && !is_over(state))) return;
    state.status.store(status, std::memory_order_release);
    const auto first_due =
        std::stable_partition(state.callbacks.begin(), state.callbacks.end(),
                              [&](const EventState::Callback& one) { return one.status < status; });
    due.assign(first_due, state.callbacks.end());
    state.callbacks.erase(first_due, state.callbacks.end());
  }
  state.connection->adjust_unawaited(-static_cast<int>(due.size()));
  for (const EventState::Callback& one : due) call(event, one, status);
}

Object* make_event(Object& queue, cl_command_type command) {
  const QueueState& of = state_of<QueueState>(queue);
  const auto both = prepare<EventState>(queue, *of.connection, of.connection->new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return nullptr;
  state->queue = &queue;
  state->context = of.context;
  state->command = command;
  return &client.objects.publish(*object, static_cast<ObjectState*>(state));
}

EventState::~EventState() {
  if (counted) count_user_event(*this, -1);
}

void notify_end(Object& event, EventState::Notify function, void* user_data) {
  add_callback(event, {CL_COMPLETE, function, user_data, true});
  state_of<EventState>(event).connection->flush();
}

cl_event make_user_event(Object& context, SetBy by, cl_int* error_ret) {
  Connection& connection = *state_of<ContextState>(context).connection;
  const auto both = prepare<EventState>(context, connection, connection.new_id());
  auto* const object = both.first;
  auto* const state = both.second;
  if (object == nullptr) return fail<cl_event>(error_ret, CL_OUT_OF_HOST_MEMORY);
  state->context = &context;
  state->command = CL_COMMAND_USER;
  state->status.store(CL_SUBMITTED);
  state->counted = by == SetBy::program;
  if (state->counted) count_user_event(*state, 1);
  const cl_int error = connection.post({}, [&](auto& b) {
    return wire::CreateCreateUserEvent(b, state->id, state_of<ContextState>(context).id);
  });
  if (error != CL_SUCCESS) {
    delete state;
    client.objects.discard(*object);
    return fail<cl_event>(error_ret, error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<cl_event>(&client.objects.publish(*object, static_cast<ObjectState*>(state)));
}

cl_event CL_API_CALL clCreateUserEvent(cl_context handle, cl_int* error_ret) {
  Object* const context = find(handle);
  if (context == nullptr) return fail<cl_event>(error_ret, CL_INVALID_CONTEXT);
  return make_user_event(*context, SetBy::program, error_ret);
}

cl_int CL_API_CALL clSetUserEventStatus(cl_event handle, cl_int status) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  EventState& state = state_of<EventState>(*event);
  if (state.queue != nullptr) return CL_INVALID_EVENT;
  if (status > CL_COMPLETE) return CL_INVALID_VALUE;
  {
    const std::scoped_lock lock(state.mutex);
    if (is_over(state) || state.is_set) return CL_INVALID_OPERATION;
    state.is_set = true;
  }
  if (std::exchange(state.counted, false)) count_user_event(state, -1);
  const cl_int error = state.connection->post(
      {}, [&](auto& b) { return wire::CreateSetUserEventStatus(b, state.id, status); });
  set_status(*event, status);
  // Whoever waits for this event reads from the server, and what comes wakes it.
  if (error == CL_SUCCESS) state.connection->ring();
  return error;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* list) {
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i) {
    if (find(list[i]) == nullptr) return CL_INVALID_EVENT;
    if (program_context(state_of<EventState>(*find(list[i])).context) !=
        program_context(state_of<EventState>(*find(list[0])).context))
      return CL_INVALID_CONTEXT;
  }
  bool failed = false;
  for (cl_uint i = 0; i < count; ++i) {
    const EventState& event = state_of<EventState>(*find(list[i]));
    wait_for_event(event);
    if (!is_over(event)) return kConnectionLost;  // the program's own, and there is no connection to wait on
    failed |= event.status.load(std::memory_order_relaxed) < 0;
  }
  return failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

cl_int CL_API_CALL clSetEventCallback(cl_event handle, cl_int status, EventState::Notify function,
                                      void* user_data) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  if (function == nullptr || status < CL_COMPLETE || status > CL_SUBMITTED) return CL_INVALID_VALUE;
  const EventState& state = state_of<EventState>(*event);
  if (add_callback(*event, {status, function, user_data}) && status != CL_COMPLETE &&
      state.queue != nullptr) {
    state.connection->post({}, [&](auto& b) { return wire::CreateWatchEvent(b, state.id); });
  }
  state.connection->flush();
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetEventInfo(cl_event handle, cl_event_info name, size_t size, void* value,
                                  size_t* size_ret) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  const EventState& state = state_of<EventState>(*event);
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
      return output.write(objects::handle_of<cl_command_queue>(state.queue));
    case CL_EVENT_CONTEXT:
      return output.write(objects::handle_of<cl_context>(program_context(state.context)));
    case CL_EVENT_COMMAND_TYPE:
      return output.write(state.command);
    case CL_EVENT_REFERENCE_COUNT:
      return output.write(references(*event));
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return output.write(value == nullptr ? CL_QUEUED : current_status(state));
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info name, size_t size, void* value,
                                           size_t* size_ret) {
  Object* const event = find(handle);
  if (event == nullptr) return CL_INVALID_EVENT;
  const EventState& state = state_of<EventState>(*event);
  if (state.queue == nullptr) return CL_PROFILING_INFO_NOT_AVAILABLE;
  const bool profiles =
      (state_of<QueueState>(*state.queue).properties.load() & CL_QUEUE_PROFILING_ENABLE) != 0;
  if (!profiles || current_status(state) != CL_COMPLETE || !state.has_times)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_COMPLETE) return CL_INVALID_VALUE;
  return InfoOutput{size, value, size_ret}.write(state.times[name - CL_PROFILING_COMMAND_QUEUED]);
}

}  // namespace cleave::remote::client
