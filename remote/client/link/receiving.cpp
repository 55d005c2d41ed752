// Receiving: frames from the server are read and handled by the thread that has the reader role.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/files/own_descriptors.h"
#include "base/log.h"
#include "remote/client/link/call_trace.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/event_status.h"
#include "remote/protocol/limits.h"
#include "remote/protocol/verify.h"

namespace cleave::remote::client {
namespace {

constexpr std::chrono::hours kNoTimeout{24 * 365};

}  // namespace

bool Connection::read_frame() {
  FrameHeader header;
  if (input_.next(header, std::chrono::steady_clock::now() + kNoTimeout) != ReadStatus::data) return false;
  if (header.kind != FrameKind::events) return false;
  const wire::Events* const events = verified_events(input_.message(), header.payload);
  return events != nullptr && handle(*events);
}

bool Connection::read_payload(const Box& box, std::size_t from, std::size_t bytes) {
  bool complete = true;
  box.for_each_run(from, [&](std::byte* place, std::size_t run) {
    const std::size_t now = std::min(run, bytes);
    complete = input_.read_payload({place, now});
    bytes -= now;
    return complete && bytes != 0;
  });
  return complete;
}

bool Connection::handle(const wire::Events& events) {
  if (events.items() != nullptr) {
    for (const wire::Item* const item : *events.items()) {
      if (!handle(*item)) return false;
    }
  }
  // Not checked for growth: a server that sends wrong totals harms only its own client.
  commands_ended_.store(events.commands_ended(), std::memory_order_relaxed);
  bytes_ended_.store(events.bytes_ended(), std::memory_order_relaxed);
  return true;
}

bool Connection::handle(const wire::Item& item) {
  switch (item.event_type()) {
    case wire::Event::Answer:
      return handle_answer(*item.event_as_Answer(), item.payload());
    case wire::Event::Output:
      return print_kernel_output(item.payload());
    case wire::Event::Completion:
      if (!handle_completion(*item.event_as_Completion())) return false;
      break;
    case wire::Event::EventStatus:
      handle_status(*item.event_as_EventStatus());
      break;
    case wire::Event::Failure:
      handle_failure(*item.event_as_Failure());
      break;
    case wire::Event::ContextError:
      handle_context_error(*item.event_as_ContextError());
      break;
    case wire::Event::MemoryReleased:
      handle_end(item.event_as_MemoryReleased()->memory());
      break;
    case wire::Event::Goodbye:
      if (item.event_as_Goodbye()->text() != nullptr) {
        base::log_line("the server closed the connection: " +
                       printable(item.event_as_Goodbye()->text()->str()));
      }
      return false;
    case wire::Event::Pong:  // its arrival is enough, but for the trace
      end_exchange(*item.event_as_Pong());
      break;
    default:
      break;
  }
  return input_.skip_payload(item.payload());
}

// Once the program knows that a read has ended, or something that can only end after it, it may free the memory into
// which the read's data was to go. So data that comes later ends the connection. Returns false if the notice is of a
// success and data is missing.
bool Connection::is_consistent_with_reads(const EndNotice& notice) {
  const base::MutexLock lock(requests_mutex_);
  for (PendingRequest* const read : unawaited_reads_) {
    const bool is_later =
        notice.request != 0 ? read->sequence < notice.request : read->first_later_id <= notice.event;
    const bool is_behind = notice.queue == read->queue && is_later && (notice.request != 0 || read->in_order);
    if (!is_behind && (notice.event == 0 || read->event != notice.event)) continue;
    if (notice.good) return false;
    read->destination_released = true;
  }
  return true;
}

bool Connection::receive_data(PendingRequest& pending, std::uint64_t payload) {
  if (pending.destination_released) return false;
  const std::uint64_t before = pending.received;
  pending.received += payload;
  if (!pending.collect) {
    return payload <= pending.destination.bytes() - before &&
           read_payload(pending.destination, before, payload);
  }
  if (payload > kMaxProgram - before) return false;
  // Memory is allocated as data comes: what is announced may never come.
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20U;
  for (std::uint64_t left = payload; left != 0;) {
    const std::uint64_t now = std::min(left, kChunk);
    const std::size_t end = pending.collected.size();
    pending.collected.resize(end + now);
    if (!input_.read_payload(std::span(pending.collected).subspan(end, now))) return false;
    left -= now;
  }
  return true;
}

// Data of a read through a ring that came over the socket instead.
bool Connection::receive_ring_data(PendingRequest& pending, std::uint64_t at, std::uint64_t payload) {
  const std::uint64_t size = pending.destination.bytes();
  pending.received += payload;
  return at <= size && payload <= size - at && read_payload(pending.destination, at, payload);
}

// Whether the data that a successful answer implies has come: the read's own, and that of reads before it.
bool Connection::is_complete(const wire::Answer& answer, const PendingRequest& pending) {
  const bool good = answer.error() == CL_SUCCESS;
  const bool over_socket =
      !pending.is_shared() && !pending.collect;  // call_through_ring() checks rings itself
  if (good && over_socket && pending.received != pending.destination.bytes()) return false;
  // A failed command need not have waited for others, but a finish has.
  const bool ends_others = pending.ends_queue != 0 && (good || pending.is_finish);
  return !ends_others || is_consistent_with_reads({good, 0, pending.ends_queue, pending.sequence});
}

bool Connection::handle_answer(const wire::Answer& answer, std::uint64_t payload) {
  PendingRequest* pending = nullptr;
  {
    const base::MutexLock lock(requests_mutex_);
    const auto found = pending_.find(answer.request());
    if (found == pending_.end()) return false;
    pending = found->second;
  }
  // Stays in the table while its data comes, so that it is failed if the connection ends meanwhile.
  if (pending->in_ring) {
    if (payload != 0 && !receive_ring_data(*pending, answer.value(), payload)) return false;
  } else {
    // A failed part has no data, and others may follow.
    if (answer.more() && payload != 0 && answer.value() != pending->received) return false;
    if (payload != 0 && (pending->is_shared() || !receive_data(*pending, payload))) return false;
  }
  if (answer.more()) return true;
  if (!is_complete(answer, *pending)) return false;
  if (pending->place && !pending->in_ring && answer.error() == CL_SUCCESS && !pending->destination_released)
    pending->destination.copy_from(pending->place.data(), 0, pending->destination.bytes());
  pending->store(answer, input_.message());
  // Data that has not come does not count as ended.
  if (answer.error() != CL_SUCCESS) {
    const std::uint64_t expected = pending->payload();
    bytes_sent_.fetch_sub(expected - std::min(expected, pending->received), std::memory_order_relaxed);
  }
  {
    const base::MutexLock lock(requests_mutex_);
    pending_.erase(answer.request());
    if (pending->queue != 0) std::erase(unawaited_reads_, pending);
  }
  if (pending->queue != 0 && pending->error != CL_SUCCESS && !pending->on_complete) fail_read(*pending);
  complete_request(*pending);
  return true;
}

// A non-blocking read has failed: so has its event, or, without one, the next clFinish of the queue.
void Connection::fail_read(const PendingRequest& read) {
  const base::MutexLock lock(events_mutex_);
  if (const auto event = expected_events_.find(read.event); event != expected_events_.end())
    return set_event_status(*event->second, read.error);
  if (read.event == 0) set_queue_failure(read.queue, read.error);
}

void Connection::set_event_status(Object& event, cl_int status) {
  unawaited_.fetch_sub(set_status(event, status), std::memory_order_relaxed);
}

void Connection::set_queue_failure(Id queue, cl_int error) {
  const auto found = subscribers_.find(queue);
  if (found == subscribers_.end() || found->second->kind != Kind::queue) return;
  cl_int none = CL_SUCCESS;
  state_of<QueueState>(*found->second).failure.compare_exchange_strong(none, error);
}

void Connection::complete_request(PendingRequest& pending) {
  if (!pending.owned_by_connection) {
    // From here on the waiting thread may return, and the request with it.
    pending.done.store(true, std::memory_order_release);
    return;
  }
  const std::unique_ptr<PendingRequest> owned_by_connection(&pending);
  unawaited_.fetch_sub(1, std::memory_order_relaxed);
  if (owned_by_connection->on_complete) owned_by_connection->on_complete(*owned_by_connection);
}

bool Connection::handle_completion(const wire::Completion& completion) {
  Object* event = nullptr;
  {
    const base::MutexLock lock(events_mutex_);
    places_in_flight_.erase(completion.event());
    regions_in_flight_.erase(completion.event());
    const auto found = expected_events_.find(completion.event());
    if (found == expected_events_.end()) return true;
    event = found->second;
    expected_events_.erase(found);
  }
  EventState& state = state_of<EventState>(*event);
  const bool good = completion.status() >= CL_COMPLETE;
  const Id queue = state.queue == nullptr || !good ? 0 : state_of<QueueState>(*state.queue).id;
  const bool fits = is_consistent_with_reads({good, completion.event(), queue, 0});
  if (const wire::Times* const times = completion.times()) {
    state.times = {times->queued(), times->submit(), times->start(), times->end(), times->complete()};
    state.has_times = true;
  }
  set_event_status(*event, fits ? std::min(completion.status(), CL_COMPLETE) : kConnectionLost);
  client.objects.drop(*event);
  return fits;
}

void Connection::handle_status(const wire::EventStatus& status) {
  const base::MutexLock lock(events_mutex_);
  const auto found = expected_events_.find(status.event());
  if (found != expected_events_.end() && status.status() > CL_COMPLETE)
    set_event_status(*found->second, status.status());
}

void Connection::handle_failure(const wire::Failure& failure) {
  const base::MutexLock lock(events_mutex_);
  set_queue_failure(failure.queue(), driver_error(failure.error()));
}

void Connection::handle_context_error(const wire::ContextError& error) {
  const base::MutexLock lock(events_mutex_);
  const auto found = subscribers_.find(error.context());
  if (found == subscribers_.end() || found->second->kind != Kind::context) return;
  const ContextState& context = state_of<ContextState>(*found->second);
  if (context.notify == nullptr) return;
  std::string text = error.text() == nullptr ? "" : error.text()->str();
  std::vector<std::uint8_t> data;
  if (error.data() != nullptr) data.assign(error.data()->begin(), error.data()->end());
  const std::size_t bytes = text.size() + data.size();
  client.callbacks.post_or_lose(
      [notify = context.notify, user_data = context.user_data, text = std::move(text),
       data = std::move(data)] {
        notify(text.c_str(), data.empty() ? nullptr : data.data(), data.size(), user_data);
      },
      bytes);
}

void Connection::end_exchange(const wire::Pong& pong) {
  std::uint64_t sent = pong.number();
  if (sent == 0 || pong.time() == 0 || !exchange_sent_.compare_exchange_strong(sent, 0)) return;
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  call_trace->add_exchange(
      trace_session_, {static_cast<std::int64_t>(sent), static_cast<std::int64_t>(pong.time()), now.count()});
}

bool Connection::awaits_ends_of(Id context) const {
  return std::any_of(end_callbacks_.begin(), end_callbacks_.end(),
                     [context](const auto& one) { return one.second.context == context; });
}

void Connection::handle_end(Id object) {
  std::function<void()> function;
  std::function<void()> of_context;
  {
    const base::MutexLock lock(events_mutex_);
    const auto found = end_callbacks_.find(object);
    if (found == end_callbacks_.end()) return;
    const Id context = found->second.context;
    function = std::move(found->second.function);
    end_callbacks_.erase(found);
    const auto waiting = context_callbacks_.find(context);
    if (waiting != context_callbacks_.end() && !awaits_ends_of(context)) {
      of_context = std::move(waiting->second);
      context_callbacks_.erase(waiting);
    }
  }
  function();
  if (of_context) of_context();
}

// Kernel output (printf) goes to the program's standard output, as with a local driver.
bool Connection::print_kernel_output(std::uint64_t payload) {
  std::array<std::byte, 1024> bytes;
  while (payload != 0) {
    const std::size_t now = std::min<std::uint64_t>(payload, bytes.size());
    if (!input_.read_payload({bytes.data(), now})) return false;
    std::fwrite(bytes.data(), 1, now, stdout);
    payload -= now;
  }
  std::fflush(stdout);
  return true;
}

// Called once, by the reader: fails everything that is pending.
void Connection::end_connection() {
  std::unordered_map<std::uint32_t, PendingRequest*> requests;
  std::unordered_map<Id, Object*> events;
  std::unordered_map<Id, EndCallback> ends;
  std::unordered_map<Id, std::function<void()>> context_ends;
  {
    const base::MutexLock requests_lock(requests_mutex_);
    const base::MutexLock events_lock(events_mutex_);
    if (closed_.exchange(true, std::memory_order_acq_rel)) return;
    requests.swap(pending_);
    unawaited_reads_.clear();
    events.swap(expected_events_);
    ends.swap(end_callbacks_);
    context_ends.swap(context_callbacks_);
  }
  closed_by_program_ = !stream_->is_ours();
  if (!requests.empty() || !events.empty()) log_if_closed_by_program();
  stream_->shutdown();
  outbox_->close();
  for (const auto& [sequence, pending] : requests) {
    pending->error = kConnectionLost;
    complete_request(*pending);
  }
  for (const auto& [id, event] : events) {
    set_event_status(*event, kConnectionLost);
    client.objects.drop(*event);
  }
  for (const auto& [id, end] : ends) end.function();
  for (const auto& [id, function] : context_ends) function();
  ended_.store(true, std::memory_order_release);
}

// Once, when it matters to the program.
void Connection::log_if_closed_by_program() try {
  if (!closed_by_program_.exchange(false)) return;
  base::log_line(
      address_ +
      ": the program has closed this connection's descriptor, as daemons close all that they do not know: "
      "objects on it are lost; let it close them before it creates a context, or leave those from " +
      std::to_string(base::kLowestDescriptor) + " on");
} catch (const std::bad_alloc&) {  // the calls' errors say that something is wrong
}

void Connection::expect(Object& event) {
  client.objects.hold(event);
  const base::MutexLock lock(events_mutex_);
  expected_events_.emplace(state_of<EventState>(event).id, &event);
}

void Connection::forget(Object& event) {
  {
    const base::MutexLock lock(events_mutex_);
    if (expected_events_.erase(state_of<EventState>(event).id) == 0) return;
  }
  client.objects.drop(event);
}

void Connection::on_memory_released(Id memory, Id context, std::function<void()> function) {
  {
    const base::MutexLock lock(events_mutex_);
    if (alive()) {
      end_callbacks_.insert({memory, {context, std::move(function)}});
      return;
    }
  }
  function();
}

// What the driver calls while it executes a release arrives before the answer to the query behind it.
void Connection::on_program_released(Id program, Id context, std::function<void()> function) {
  on_memory_released(program, context, std::move(function));
  auto fence = std::make_unique<PendingRequest>();
  fence->owned_by_connection = true;
  fence->on_complete = [this, program](PendingRequest&) { handle_end(program); };
  const cl_int error = call_async({}, *fence, [&](auto& b) {
    return wire::CreateQuery(b, wire::InfoSubject::context, context, 0, CL_CONTEXT_NUM_DEVICES);
  });
  if (error == CL_SUCCESS) {
    static_cast<void>(fence.release());  // owned by the connection from here on
    flush();
  } else {
    handle_end(program);
  }
}

void Connection::on_context_released(Id context, std::function<void()> function) {
  {
    const base::MutexLock lock(events_mutex_);
    if (alive() && awaits_ends_of(context)) {
      context_callbacks_.emplace(context, std::move(function));
      return;
    }
  }
  function();
}

void Connection::subscribe(Object& object) {
  const base::MutexLock lock(events_mutex_);
  subscribers_.emplace(state_of<ObjectState>(object).id, &object);
}

Object* Connection::subscriber(Id object) {
  const base::MutexLock lock(events_mutex_);
  const auto found = subscribers_.find(object);
  return found == subscribers_.end() ? nullptr : found->second;
}

void Connection::unsubscribe(Id object) {
  const base::MutexLock lock(events_mutex_);
  subscribers_.erase(object);
}

}  // namespace cleave::remote::client
