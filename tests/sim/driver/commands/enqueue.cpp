#include "tests/sim/driver/commands/enqueue.h"

#include <utility>

#include "tests/sim/driver/core/call_text.h"

namespace cleave::sim {
namespace {

std::vector<Event*> events_in(CallFrame& frame, const Queue& queue, WaitListArguments wait_list) {
  require((wait_list.count == 0) == (wait_list.waits == nullptr), CL_INVALID_EVENT_WAIT_LIST);
  std::vector<Event*> events;
  for (cl_uint i = 0; i < wait_list.count; ++i) {
    Event& event = frame.state.get(wait_list.waits[i], CL_INVALID_EVENT_WAIT_LIST);
    require(event.context == queue.context, CL_INVALID_CONTEXT);
    events.push_back(&event);
  }
  if (wait_list.count > 0 && frame.wants_text()) {
    frame.note(text_of_list("waits", frame.state, wait_list.count, wait_list.waits));
  }
  return events;
}

std::shared_ptr<Event> make_event(DriverState& state, Queue& queue, const std::shared_ptr<Command>& command) {
  auto event = state.make<Event>();
  event->context = queue.context;
  event->queue = shared(queue);
  event->command = command;
  command->event = event;
  return event;
}

// The command's own error, or that of what it waited for.
void finish_blocking(CallFrame& frame, const std::shared_ptr<Command>& command) {
  wait_for(frame, {command});
  require(command->status == CL_COMPLETE, command->status);
}

}  // namespace

CommandSpec transfer(const DriverState& state, cl_command_type type, std::function<void()> effect,
                     cl_bool blocking) {
  CommandSpec spec{type, std::move(effect), [&state] { return state.options.per_transfer; }};
  spec.blocking = blocking != CL_FALSE;
  return spec;
}

void enqueue(CallFrame& frame, Queue& queue, CommandSpec spec, WaitListArguments wait_list) {
  auto command = std::make_shared<Command>();
  for (const Event* event : events_in(frame, queue, wait_list)) {
    command->awaited_commands.push_back(event->command);
    if (spec.launch) spec.launch->waits.push_back(event->id);
  }
  command->type = spec.type;
  command->queue = shared(queue);
  command->device = spec.occupies_device ? &queue.device->root() : nullptr;
  command->duration = std::move(spec.duration);
  command->effect = std::move(spec.effect);
  command->launch = spec.launch;
  std::shared_ptr<Event> event;
  if (wait_list.event != nullptr) {
    event = make_event(frame.state, queue, command);
    if (spec.launch) spec.launch->event = event->id;
    frame.returned(event->label());
  }
  frame.state.timeline.add(command, spec.placement);
  if (spec.launch) frame.state.record.launched(spec.launch);
  if (spec.blocking) {
    try {
      finish_blocking(frame, command);
    } catch (const Error&) {
      // Given up, it may end much later, when the program's memory is no longer there.
      if (!command->done()) command->effect = nullptr;
      if (event) event->release();
      frame.returned("");
      throw;
    }
  }
  if (wait_list.event != nullptr) *wait_list.event = handle_of(event);
}

void enqueue_transfer(CallFrame& frame, Queue& queue, cl_command_type type, std::function<void()> effect,
                      WaitListArguments wait_list, cl_bool blocking) {
  enqueue(frame, queue, transfer(frame.state, type, std::move(effect), blocking), wait_list);
}

void wait_for(CallFrame& frame, const std::vector<std::shared_ptr<Command>>& commands) {
  DriverState& state = frame.state;
  for (const auto& command : commands) {
    if (const auto queue = command->queue) state.timeline.flush(*queue);
  }
  for (const auto& command : commands) {
    require(state.wait(frame.lock, [&] { return command->done(); }), CL_OUT_OF_RESOURCES);
  }
}

}  // namespace cleave::sim
