#include "remote/client/api/events.h"

#include <algorithm>

#include "remote/client/api/api.h"
#include "remote/client/link/info_query.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/event_status.h"

namespace cleave::remote::client {
namespace {

// Counts a user event of the program's on all connections whose commands may be waiting for it.
void count_user_event(const EventState& event, int by) {
  event.connection->count_user_event(by);
  for (Connection* const other : state_of<ContextState>(*event.context).siblings) other->count_user_event(by);
}

bool add_counted(Object& event, const EventState::Callback& callback) {
  const bool added = add_callback(event, callback);
  if (added) state_of<EventState>(event).connection->adjust_unawaited(1);
  return added;
}

void wait_for_event(const EventState& event) {
  event.connection->wait([&] { return is_over(event); });
}

// The server's answer, unless the final status is known here.
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
  if (now <= CL_COMPLETE) wait_for_event(event);  // its completion message is on the way
  const cl_int final_status = event.status.load(std::memory_order_acquire);
  return final_status <= CL_COMPLETE ? final_status : std::max(now, CL_RUNNING);
}

}  // namespace

Object* make_event(Object& queue, cl_command_type command) {
  const QueueState& of = state_of<QueueState>(queue);
  NewObject<EventState> made(queue, *of.connection, of.connection->new_id());
  if (!made) return nullptr;
  made->queue = &queue;
  made->context = of.context;
  made->command = command;
  return &made.publish();
}

EventState::~EventState() {
  if (counted) count_user_event(*this, -1);
}

void notify_end(Object& event, EventState::Notify function, void* user_data) {
  add_counted(event, {CL_COMPLETE, function, user_data, true});
  state_of<EventState>(event).connection->flush();
}

cl_event make_user_event(Object& context, SetBy by, cl_int* error_ret) {
  Connection& connection = *state_of<ContextState>(context).connection;
  NewObject<EventState> made(context, connection, connection.new_id());
  if (!made) return fail<cl_event>(error_ret, CL_OUT_OF_HOST_MEMORY);
  made->context = &context;
  made->command = CL_COMMAND_USER;
  made->status.store(CL_SUBMITTED);
  made->counted = by == SetBy::program;
  if (made->counted) count_user_event(*made, 1);
  const cl_int error = connection.post({}, [&](auto& b) {
    return wire::CreateCreateUserEvent(b, made->id, state_of<ContextState>(context).id);
  });
  return made.finish(error, error_ret);
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
    const base::MutexLock lock(state.mutex);
    if (is_over(state) || state.is_set) return CL_INVALID_OPERATION;
    state.is_set = true;
  }
  if (state.counted.exchange(false)) count_user_event(state, -1);
  const cl_int error = state.connection->post(
      {}, [&](auto& b) { return wire::CreateSetUserEventStatus(b, state.id, status); });
  state.connection->adjust_unawaited(-static_cast<int>(set_status(*event, status)));
  // Threads that wait for the event wake up only for what the server sends.
  if (error == CL_SUCCESS) state.connection->wake_waiters();
  return error;
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* list) {
  if (count == 0 || list == nullptr) return CL_INVALID_VALUE;
  for (cl_uint i = 0; i < count; ++i) {
    if (find(list[i]) == nullptr) return CL_INVALID_EVENT;
    if (program_context(state_of<EventState>(object_of(list[i])).context) !=
        program_context(state_of<EventState>(object_of(list[0])).context))
      return CL_INVALID_CONTEXT;
  }
  bool failed = false;
  for (cl_uint i = 0; i < count; ++i) {
    const EventState& event = state_of<EventState>(object_of(list[i]));
    wait_for_event(event);
    if (!is_over(event))
      return kConnectionLost;  // a user event that is not set, on a connection that has ended
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
  if (add_counted(*event, {status, function, user_data}) && status != CL_COMPLETE && state.queue != nullptr) {
    state.connection->post({}, [&](auto& b) { return wire::CreateWatchEvent(b, state.id); });
  }
  state.connection->flush();
  return CL_SUCCESS;
}

cl_int CL_API_CALL clGetEventInfo(cl_event handle, cl_event_info name, size_t size, void* value,
                                  size_t* size_ret) {
  const EventState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_EVENT;
  const InfoOutput output{size, value, size_ret};
  switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
      return output.write(objects::handle_of<cl_command_queue>(state->queue));
    case CL_EVENT_CONTEXT:
      return output.write(objects::handle_of<cl_context>(program_context(state->context)));
    case CL_EVENT_COMMAND_TYPE:
      return output.write(state->command);
    case CL_EVENT_REFERENCE_COUNT:
      return output.write(references(handle));
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return output.write(value == nullptr ? CL_QUEUED : current_status(*state));
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clGetEventProfilingInfo(cl_event handle, cl_profiling_info name, size_t size, void* value,
                                           size_t* size_ret) {
  const EventState* const state = find_state(handle);
  if (state == nullptr) return CL_INVALID_EVENT;
  if (state->queue == nullptr) return CL_PROFILING_INFO_NOT_AVAILABLE;
  const bool profiles =
      (state_of<QueueState>(*state->queue).properties.load() & CL_QUEUE_PROFILING_ENABLE) != 0;
  if (!profiles || current_status(*state) != CL_COMPLETE || !state->has_times)
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  const InfoOutput output{size, value, size_ret};
  if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_COMPLETE) {
    if (value != nullptr) return CL_INVALID_VALUE;
    // Some drivers know a size for any name.
    return query_into(
        *state->connection,
        {.what = wire::InfoSubject::event_profiling, .object = state->id, .param = name, .index = 1}, output);
  }
  return output.write(state->times[name - CL_PROFILING_COMMAND_QUEUED]);
}

}  // namespace cleave::remote::client
