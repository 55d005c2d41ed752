#include "remote/server/session/enqueue.h"

namespace cleave::remote::server {
namespace {

// In bytes. The reading thread does not poll for the end of commands with more data: copying takes longer than it polls.
constexpr std::uint64_t kSmallTransfer = std::uint64_t{64} << 10U;
// That many commands in a row without an event, so that long frames are reported in parts. At 256 an event costs each of them
// next to nothing.
constexpr std::uint64_t kMaxWithoutEvent = 255;
// How far the next command of a queue is looked for: behind the arguments of a launch.
constexpr unsigned kLookAhead = 64;

// Commands whose end is of interest only together with that of others: nothing waits for them, they wait for nothing
// but their queue, nothing is kept for them until they end, and the driver's function takes null in place of an event.
bool is_plain(const wire::Command& command) {
  if (command.event() != 0 || command.request() != 0 || command.payload() != 0 || command.shared() != nullptr)
    return false;
  if (command.waits() != nullptr && command.waits()->size() != 0) return false;
  switch (command.body_type()) {
    case wire::Body::NDRange:
    case wire::Body::CopyBuffer:
    case wire::Body::CopyBufferRect:
    case wire::Body::FillBuffer:
    case wire::Body::CopyImage:
    case wire::Body::CopyImageToBuffer:
    case wire::Body::CopyBufferToImage:
    case wire::Body::FillImage:
    case wire::Body::Barrier:
    case wire::Body::SvmCopy:
    case wire::Body::SvmFill:
      return true;
    default:
      return false;
  }
}

// Fails a command because an event of its wait list has failed: with its event, and not at once, since a driver would have
// accepted it.
void fail_with_wait_list(SessionContext& session, const wire::Command& command) {
  constexpr cl_int kError = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  const wire::Body body = command.body_type();
  const bool at_end = command.at_end() || body == wire::Body::ReadBuffer ||
                      body == wire::Body::ReadBufferRect || body == wire::Body::ReadImage ||
                      body == wire::Body::SvmRead;
  session.outbox.count_ended(1, command.payload());
  if (command.request() != 0) {
    session.answers.answer(command.request(), at_end ? kError : CL_SUCCESS);
  } else if (command.event() == 0) {
    session.answers.failure(0, command.queue(), kError);
  }
  if (command.event() == 0) return;
  if (!session.register_object(command.event(), {Kind::event, nullptr})) return;
  session.answers.completion(command.event(), kError);
}

// These keep nothing of the driver's, and what has been released goes only when commands end.
bool keeps_nothing(wire::Body body) {
  return body == wire::Body::FlushQueue || body == wire::Body::FinishQueue;
}

void charge(SessionContext& session, const Enqueue& to, Pending& pending) {
  pending.overhead = to.overhead;
  session.overhead_begun += to.overhead;
}

}  // namespace

std::optional<Enqueue> begin_enqueue(SessionContext& session, const wire::Command& command,
                                     std::uint64_t overhead) {
  const auto object = session.objects.find(command.queue());
  if (!object || object->kind != Kind::queue) {
    fail_command(session, command, CL_INVALID_COMMAND_QUEUE);
    return std::nullopt;
  }
  if (command.event() != 0 && !session.check_new_id(command.event())) return std::nullopt;
  overhead +=
      kOverheadOfCommand + (command.waits() != nullptr ? command.waits()->size() : 0) * kOverheadOfListed;
  const bool has_room = keeps_nothing(command.body_type()) || session.has_room(overhead);
  if (!has_room || (command.event() != 0 && session.is_full())) {
    fail_command(session, command, CL_OUT_OF_HOST_MEMORY);
    return std::nullopt;
  }
  Enqueue enqueue{object->queue, {}, overhead, command.empty_list()};
  if (command.waits() == nullptr) return enqueue;
  bool failed = false;
  for (const std::uint64_t id : numbers(command.waits())) {
    const auto event = session.objects.find(id);
    if (!event || event->kind != Kind::event) {
      fail_command(session, command, CL_INVALID_EVENT_WAIT_LIST);
      return std::nullopt;
    }
    failed = failed || event->handle == nullptr;
    enqueue.waits.push_back(static_cast<cl_event>(event->handle));
  }
  if (!failed) return enqueue;
  fail_with_wait_list(session, command);
  return std::nullopt;
}

// A command that waits for events, or whose event the client wants, may fail by itself, and would then speak for the plain ones
// before it. So these end with one of their own kind.
bool needs_no_event(const SessionContext& session, const wire::Command& command, const Queue& queue) {
  if (!queue.info().in_order || !is_plain(command) || queue.without_event() >= kMaxWithoutEvent) return false;
  const wire::Command* const next = session.next_with_queue(kLookAhead);
  return next != nullptr && next->queue() == command.queue() && is_plain(*next);
}

void fail_command(SessionContext& session, const wire::Command& command, cl_int error, std::uint64_t bytes) {
  if (command.queue() != 0) session.outbox.count_ended(1, command.payload() - bytes);
  session.reply(command, 0, error);
  if (command.request() != 0 || command.event() == 0) return;
  if (!session.check_new_id(command.event())) return;
  session.objects.add(command.event(), {Kind::event, nullptr});
  session.answers.completion(command.event(), error);
}

void finish_enqueue(SessionContext& session, const wire::Command& command, const Enqueue& to, cl_event event,
                    Pending pending) {
  pending.event = EventReference(session.cl, event);
  pending.event_id = command.event();
  if (pending.first.get() == nullptr) charge(session, to, pending);
  if (pending.is_read || command.at_end()) {
    pending.request = command.request();
  } else if (command.request() != 0) {
    session.answers.answer(command.request(), CL_SUCCESS);
  }
  if (command.event() != 0) {
    session.cl.clRetainEvent(event);
    if (!session.register_object(command.event(), {Kind::event, event})) return;
    // The client has to learn that the command was enqueued before it learns that it has ended.
    if (!session.answers.empty()) session.outbox.send(session.answers);
  }
  session.flush_later(to.queue);
  const bool is_small = pending.bytes + pending.data.bytes().size() <= kSmallTransfer;
  if (!is_small || !pending.is_awaited()) return to.queue->add(std::move(pending));
  session.poll_after_frame(to.queue);
  to.queue->add(std::move(pending), Queue::WaitedBy::by_caller);
}

void finish_enqueue_without_event(SessionContext& session, const Enqueue& to) {
  to.queue->add_without_event(to.overhead);
  session.overhead_begun += to.overhead;
  session.flush_later(to.queue);
}

void finish_enqueue_slice(SessionContext& session, const wire::Command& command, const Enqueue& to,
                          cl_event event, Pending pending, EventReference& first) {
  if (!pending.more) {
    pending.first = std::move(first);
    return finish_enqueue(session, command, to, event, std::move(pending));
  }
  pending.event = EventReference(session.cl, event);
  if (first.get() == nullptr) {
    charge(session, to, pending);
    first = pending.event.duplicate();
  } else {
    pending.first = first.duplicate();
  }
  pending.ends = false;
  // The data of a slice that comes as a payload is sent when the slice has ended.
  if (pending.is_read && pending.data) pending.request = command.request();
  to.queue->add(std::move(pending));
}

}  // namespace cleave::remote::server
