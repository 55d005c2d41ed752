// Events: waiting, status, profiling, callbacks, user events.
#include <utility>

#include "tests/sim/driver/commands/enqueue.h"
#include "tests/sim/driver/core/entry_point.h"
#include "tests/sim/driver/core/table.h"

namespace cleave::sim {
namespace event_functions {

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

constexpr InfoRow<Event> event_rows[] = {
    {CL_EVENT_COMMAND_QUEUE, [](const Event& event) { return handle_of(event.queue); }},
    {CL_EVENT_CONTEXT, [](const Event& event) { return handle_of(event.context); }},
    {CL_EVENT_COMMAND_TYPE, [](const Event& event) { return event.command->type; }},
    {CL_EVENT_COMMAND_EXECUTION_STATUS, [](const Event& event) { return event.command->status; }},
    {CL_EVENT_REFERENCE_COUNT, [](const Event& event) { return event.references(); }},
};

template <auto when>
struct Time {
  cl_ulong operator()(const Command& command) const { return static_cast<cl_ulong>((command.*when).count()); }
};
constexpr InfoRow<Command> profiling_rows[] = {
    {CL_PROFILING_COMMAND_QUEUED, Time<&Command::queued>{}},
    {CL_PROFILING_COMMAND_SUBMIT, Time<&Command::submitted>{}},
    {CL_PROFILING_COMMAND_START, Time<&Command::started>{}},
    {CL_PROFILING_COMMAND_END, Time<&Command::ended>{}},
    {CL_PROFILING_COMMAND_COMPLETE, Time<&Command::ended>{}},
};

void profiling_info(CallFrame&, const Event& event, InfoQuery query) {
  const Command& command = *event.command;
  const bool available = event.queue && event.queue->profiling() && command.status == CL_COMPLETE;
  require(available, CL_PROFILING_INFO_NOT_AVAILABLE);
  answer(profiling_rows, command, query);
}

void set_callback(CallFrame& frame, Event& event, cl_int status,
                  void(CL_CALLBACK* function)(cl_event, cl_int, void*), void* user_data) {
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

cl_event create_user_event(CallFrame& frame, Context& context) {
  auto event = frame.state.make<Event>();
  event->context = shared(context);
  event->command = std::make_shared<Command>();
  event->command->type = CL_COMMAND_USER;
  event->command->status = CL_SUBMITTED;
  return handle_of(event);
}

// The command knows its event only now, so that a user event that is never set is freed by its last release.
void set_user_event_status(CallFrame& frame, Event& event, cl_int status) {
  require(event.command->type == CL_COMMAND_USER, CL_INVALID_EVENT);
  require(status <= CL_COMPLETE, CL_INVALID_VALUE);
  require(!event.command->done(), CL_INVALID_OPERATION);
  event.command->event = shared(event);
  frame.state.timeline.end_now(event.command, status);
}

}  // namespace event_functions

void event_functions::add(cl_icd_dispatch& table) {
  SIM_IMPLEMENT(clWaitForEvents, wait_for_events);
  SIM_IMPLEMENT(clGetEventInfo, answer_from<Event, event_rows>);
  SIM_IMPLEMENT(clGetEventProfilingInfo, profiling_info);
  SIM_IMPLEMENT(clSetEventCallback, set_callback);
  SIM_IMPLEMENT(clCreateUserEvent, create_user_event);
  SIM_IMPLEMENT(clSetUserEventStatus, set_user_event_status);
  SIM_IMPLEMENT(clRetainEvent, retain<Event>);
  SIM_IMPLEMENT(clReleaseEvent, release<Event>);
}

}  // namespace cleave::sim
