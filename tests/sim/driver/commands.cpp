#include "tests/sim/driver/commands.h"

#include <utility>

#include "tests/sim/driver/text.h"

namespace cleave::sim {
namespace {

std::vector<Event*> wait_list(Frame& frame, const Queue& queue, Tail tail) {
  require((tail.count == 0) == (tail.waits == nullptr), CL_INVALID_EVENT_WAIT_LIST);
  std::vector<Event*> events;
  for (cl_uint i = 0; i < tail.count; ++i) {
    Event& event = frame.session.get(tail.waits[i], CL_INVALID_EVENT_WAIT_LIST);
    require(event.context == queue.context, CL_INVALID_CONTEXT);
    events.push_back(&event);
  }
  if (tail.count > 0 && frame.wants_text()) {
    frame.note(text_of_list("waits", frame.session, tail.count, tail.waits));
  }
  return events;
}

std::shared_ptr<Event> make_event(Session& session, Queue& queue, const std::shared_ptr<Command>& command) {
  auto event = session.make<Event>();
  event->context = queue.context;
  event->queue = shared(queue);
  event->command = command;
  command->event = event;
  return event;
}

// The command's own error, or that of what it waited for.
void finish_blocking(Frame& frame, const std::shared_ptr<Command>& command) {
  wait_for(frame, {command});
  require(command->status == CL_COMPLETE, command->status);
}

}  // namespace

Job transfer(const Session& session, cl_command_type type, std::function<void()> effect, bool blocking) {
  Job job{type, std::move(effect), [&session] { return session.options.per_transfer; }};
  job.blocking = blocking;
  return job;
}

void enqueue(Frame& frame, Queue& queue, Job job, Tail tail) {
  auto command = std::make_shared<Command>();
  for (const Event* event : wait_list(frame, queue, tail)) {
    command->causes.push_back(event->command);
    if (job.launch) job.launch->waits.push_back(event->id);
  }
  command->type = job.type;
  command->queue = shared(queue);
  command->device = job.takes_time ? &queue.device->root() : nullptr;
  command->duration = std::move(job.duration);
  command->effect = std::move(job.effect);
  command->launch = job.launch;
  std::shared_ptr<Event> event;
  if (tail.event != nullptr) {
    event = make_event(frame.session, queue, command);
    if (job.launch) job.launch->event = event->id;
    frame.returned(event->label());
  }
  frame.session.timeline.add(command, job.place);
  if (job.launch) frame.session.record.launched(job.launch);
  if (job.blocking) {
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
  if (tail.event != nullptr) *tail.event = handle_of(event);
}

void wait_for(Frame& frame, const std::vector<std::shared_ptr<Command>>& commands) {
  Session& session = frame.session;
  for (const auto& command : commands) {
    if (const auto queue = command->queue) session.timeline.flush(*queue);
  }
  for (const auto& command : commands) {
    require(session.wait(frame.lock, [&] { return command->done(); }), CL_OUT_OF_RESOURCES);
  }
}

}  // namespace cleave::sim
