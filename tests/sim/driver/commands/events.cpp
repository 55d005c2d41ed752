// Events: waiting, status, profiling, callbacks, user events.
#include <utility>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/info_answer.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace {

void wait_for_events(CallFrame& frame, cl_uint count, const cl_event* list) {
  require(count > 0 && list != nullptr, CL_INVALID_VALUE);
  if (frame.wants_text()) frame.note(text_of_list("events", frame.state, count, list));
  std::vector<std::shared_ptr<Command>> commands;
  const Context* context = nullptr;
  for (cl_uint i = 0; i < count; ++i) {
    const Event& event = frame.state.get(list[i]);
    require(context == nullptr || context == event.context.get(), CL_INVALID_CONTEXT);
    context = event.context.get();
    commands.push_back(event.command);
  }
  wait_for(frame, commands);
  for (const auto& command : commands) {
    require(command->status == CL_COMPLETE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
}

void event_info(CallFrame& frame, cl_event handle, cl_event_info name, std::size_t capacity, void* value,
                std::size_t* size) {
  const Event& event = frame.state.get(handle);
  const InfoAnswer answer(capacity, value, size);
  switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
      return answer.value(handle_of(event.queue));
    case CL_EVENT_CONTEXT:
      return answer.value(handle_of(event.context));
    case CL_EVENT_COMMAND_TYPE:
      return answer.value(event.command->type);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
      return answer.value(event.command->status);
    case CL_EVENT_REFERENCE_COUNT:
      return answer.value(event.references());
    default:
      throw Error{CL_INVALID_VALUE};
  }
}

void profiling_info(CallFrame& frame, cl_event handle, cl_profiling_info name, std::size_t capacity,
                    void* value, std::size_t* size) {
  const Event& event = frame.state.get(handle);
  const Command& command = *event.command;
  const bool available = event.queue && event.queue->profiling() && command.status == CL_COMPLETE;
  require(available, CL_PROFILING_INFO_NOT_AVAILABLE);
  const InfoAnswer answer(capacity, value, size);
  const auto time = [&](Nanoseconds when) { answer.value(static_cast<cl_ulong>(when.count())); };
  switch (name) {
    case CL_PROFILING_COMMAND_QUEUED:
      return time(command.queued);
    case CL_PROFILING_COMMAND_SUBMIT:
      return time(command.submitted);
    case CL_PROFILING_COMMAND_START:
      return time(command.started);
    case CL_PROFILING_COMMAND_END:
    case CL_PROFILING_COMMAND_COMPLETE:
      return time(command.ended);
    default:
      throw Error{CL_INVALID_VALUE};
  }
}

void set_callback(CallFrame& frame, cl_event handle, cl_int status,
                  void(CL_CALLBACK* function)(cl_event, cl_int, void*), void* user_data) {
  Event& event = frame.state.get(handle);
  require(function != nullptr, CL_INVALID_VALUE);
  require(status == CL_SUBMITTED || status == CL_RUNNING || status == CL_COMPLETE, CL_INVALID_VALUE);
  const cl_int now = event.command->status;
  if (now > status) {
    event.callbacks.push_back({status, function, user_data});
    return;
  }
  const cl_int reported_status = now < 0 ? now : status;
  frame.state.queue_callback([held = shared(event), reported_status, function, user_data] {
    function(handle_of(held), reported_status, user_data);
  });
}

cl_event create_user_event(CallFrame& frame, cl_context handle) {
  Context& context = frame.state.get(handle);
  auto event = frame.state.make<Event>();
  event->context = shared(context);
  event->command = std::make_shared<Command>();
  event->command->type = CL_COMMAND_USER;
  event->command->status = CL_SUBMITTED;
  return handle_of(event);
}

// The command knows its event only now, so that a user event nobody sets goes with its last release.
void set_user_event_status(CallFrame& frame, cl_event handle, cl_int status) {
  Event& event = frame.state.get(handle);
  require(event.command->type == CL_COMMAND_USER, CL_INVALID_EVENT);
  require(status <= CL_COMPLETE, CL_INVALID_VALUE);
  require(!event.command->done(), CL_INVALID_OPERATION);
  event.command->event = shared(event);
  frame.state.timeline.end_now(event.command, status);
}

void retain(CallFrame& frame, cl_event handle) { frame.state.get(handle).retain(); }

void release(CallFrame& frame, cl_event handle) {
  require(frame.state.get(handle).release(), CL_INVALID_EVENT);
}

}  // namespace

void add_event_functions(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clWaitForEvents, wait_for_events);
  SIM_IMPLEMENT(clGetEventInfo, event_info);
  SIM_IMPLEMENT(clGetEventProfilingInfo, profiling_info);
  SIM_IMPLEMENT(clSetEventCallback, set_callback);
  SIM_IMPLEMENT(clCreateUserEvent, create_user_event);
  SIM_IMPLEMENT(clSetUserEventStatus, set_user_event_status);
  SIM_IMPLEMENT(clRetainEvent, retain);
  SIM_IMPLEMENT(clReleaseEvent, release);
}

}  // namespace cleave::sim
