// The half of a connection that reads, and does what came.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/log.h"
#include "remote/client/connection.h"
#include "remote/client/events.h"
#include "remote/client/state.h"
#include "remote/protocol/limits.h"
#include "remote/protocol/verify.h"

namespace cleave::remote::client {
namespace {

constexpr std::chrono::hours kForEver{24 * 365};

}  // namespace

bool Connection::read_frame() {
  FrameHeader header;
  if (input_.next(header, std::chrono::steady_clock::now() + kForEver) != Got::data) return false;
  if (header.kind != FrameKind::events) return false;
  const wire::Events* const events = verified_events(input_.message(), header.payload);
  return events != nullptr && handle(*events);
}

bool Connection::read_payload(const Box& box, std::size_t from, std::size_t bytes) {
  bool whole = true;
  box.each_run(from, [&](std::byte* place, std::size_t run) {
    const std::size_t now = std::min(run, bytes);
    whole = input_.read_payload({place, now});
    bytes -= now;
    return whole && bytes != 0;
  });
  return whole;
}

bool Connection::handle(const wire::Events& events) {
  if (events.items() != nullptr) {
    for (const wire::Item* const item : *events.items()) {
      if (!handle(*item)) return false;
    }
  }
  // Totals only grow; a server that says otherwise harms nobody but its own client.
  commands_ended_.store(events.commands_ended(), std::memory_order_relaxed);
  bytes_ended_.store(events.bytes_ended(), std::memory_order_relaxed);
  return true;
}

bool Connection::handle(const wire::Item& item) {
  switch (item.event_type()) {
    case wire::Event::Answer:
      return handle_answer(*item.event_as_Answer(), item.payload());
    case wire::Event::Output:
      return print(item.payload());
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
    case wire::Event::MemoryGone:
      handle_end(item.event_as_MemoryGone()->memory());
      break;
    case wire::Event::Goodbye:
      if (item.event_as_Goodbye()->text() != nullptr) {
        base::say("the server ends the connection: " + printable(item.event_as_Goodbye()->text()->str()));
      }
      return false;
    default:  // Pong: that it came is enough
      break;
  }
  return input_.skip_payload(item.payload());
}

// A program that is told of a read's end, or of what can only come after it, may take the memory away into
// which the read's data was to go. So what comes then ends the connection. False: the program would be told
// that all went well, and there is no data.
bool Connection::fits_reads(const News& news) {
  const std::scoped_lock lock(requests_);
  for (Pending* const read : reads_) {
    const bool is_later = news.request != 0 ? read->number < news.request : read->later_ids <= news.event;
    const bool is_behind = news.queue == read->queue && is_later && (news.request != 0 || read->in_order);
    if (!is_behind && (news.event == 0 || read->event != news.event)) continue;
    if (news.good) return false;
    read->is_over = true;
  }
  return true;
}

bool Connection::land(Pending& pending, std::uint64_t payload) {
  if (pending.is_over) return false;
  const std::uint64_t before = pending.received;
  pending.received += payload;
  if (!pending.collects) {
    return payload <= pending.landing.bytes() - before && read_payload(pending.landing, before, payload);
  }
  if (payload > kMostProgram - before) return false;
  // Memory is taken as the data comes: what is announced may never come.
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20U;
  for (std::uint64_t left = payload; left != 0;) {
    const std::uint64_t now = std::min(left, kAtOnce);
    const std::size_t end = pending.collected.size();
    pending.collected.resize(end + now);
    if (!input_.read_payload(std::span(pending.collected).subspan(end, now))) return false;
    left -= now;
  }
  return true;
}

// What the ring could not carry.
bool Connection::land_in_ring(Pending& pending, std::uint64_t at, std::uint64_t payload) {
  const std::uint64_t whole = pending.landing.bytes();
  pending.received += payload;
  return at <= whole && payload <= whole - at && read_payload(pending.landing, at, payload);
}

// Whether what the answer says to be there is: the read's own data, and that of reads before it.
bool Connection::is_whole(const wire::Answer& answer, const Pending& pending) {
  const bool good = answer.error() == CL_SUCCESS;
  const bool over_socket = !pending.place && !pending.collects;  // of a ring its owner knows
  if (good && over_socket && pending.received != pending.landing.bytes()) return false;
  // One that failed need not have waited for others, unless it was to do nothing else.
  const bool ends_others = pending.ends != 0 && (good || pending.is_finish);
  return !ends_others || fits_reads({good, 0, pending.ends, pending.number});
}

bool Connection::handle_answer(const wire::Answer& answer, std::uint64_t payload) {
  Pending* pending = nullptr;
  {
    const std::scoped_lock lock(requests_);
    const auto found = pending_.find(answer.request());
    if (found == pending_.end()) return false;
    pending = found->second;
  }
  // Still in the table while the data comes, so that it is ended if that breaks off.
  if (pending->in_ring) {
    if (payload != 0 && !land_in_ring(*pending, answer.value(), payload)) return false;
  } else {
    // A part that has failed has no data, and may stand before others.
    if (answer.more() && payload != 0 && answer.value() != pending->received) return false;
    if (payload != 0 && (pending->place || !land(*pending, payload))) return false;
  }
  if (answer.more()) return true;
  if (!is_whole(answer, *pending)) return false;
  if (pending->place && !pending->in_ring && answer.error() == CL_SUCCESS && !pending->is_over)
    pending->landing.copy_from(pending->place.data(), 0, pending->landing.bytes());
  pending->keep(answer, input_.message());
  // What has not come is not counted as ended.
  if (answer.error() != CL_SUCCESS) {
    const std::uint64_t asked = pending->payload();
    bytes_sent_.fetch_sub(asked - std::min(asked, pending->received), std::memory_order_relaxed);
  }
  {
    const std::scoped_lock lock(requests_);
    pending_.erase(answer.request());
    if (pending->queue != 0) std::erase(reads_, pending);
  }
  if (pending->queue != 0 && pending->error != CL_SUCCESS && !pending->then) fail_read(*pending);
  finish(*pending);
  return true;
}

// A read that nobody waits for has failed: its event has, whatever else comes of it, or the next wait for the
// queue says so.
void Connection::fail_read(const Pending& read) {
  const std::scoped_lock lock(events_);
  if (const auto event = expected_.find(read.event); event != expected_.end())
    return set_status(*event->second, read.error);
  const auto queue = read.event != 0 ? known_.end() : known_.find(read.queue);
  if (queue == known_.end()) return;
  cl_int none = CL_SUCCESS;
  body_of<QueueBody>(*queue->second).failure.compare_exchange_strong(none, read.error);
}

void Connection::finish(Pending& pending) {
  if (!pending.owned) {
    // The thread that waits may go on at once, and take the request with it.
    pending.done.store(true, std::memory_order_release);
    return;
  }
  const std::unique_ptr<Pending> owned(&pending);
  expectations_.fetch_sub(1, std::memory_order_relaxed);
  if (owned->then) owned->then(*owned);
}

bool Connection::handle_completion(const wire::Completion& completion) {
  Object* event = nullptr;
  {
    const std::scoped_lock lock(events_);
    lent_.erase(completion.event());
    const auto found = expected_.find(completion.event());
    if (found == expected_.end()) return true;
    event = found->second;
    expected_.erase(found);
  }
  EventBody& body = body_of<EventBody>(*event);
  const bool good = completion.status() >= CL_COMPLETE;
  const Id queue = body.queue == nullptr || !good ? 0 : body_of<QueueBody>(*body.queue).id;
  const bool fits = fits_reads({good, completion.event(), queue, 0});
  if (const wire::Times* const times = completion.times()) {
    body.times = {times->queued(), times->submit(), times->start(), times->end(), times->complete()};
    body.has_times = true;
  }
  set_status(*event, fits ? std::min(completion.status(), CL_COMPLETE) : kGone);
  client.objects.drop(*event);
  return fits;
}

void Connection::handle_status(const wire::EventStatus& status) {
  const std::scoped_lock lock(events_);
  const auto found = expected_.find(status.event());
  if (found != expected_.end() && status.status() > CL_COMPLETE) set_status(*found->second, status.status());
}

void Connection::handle_failure(const wire::Failure& failure) {
  const std::scoped_lock lock(events_);
  const auto found = known_.find(failure.queue());
  if (found == known_.end() || found->second->kind != Kind::queue) return;
  cl_int none = CL_SUCCESS;
  body_of<QueueBody>(*found->second).failure.compare_exchange_strong(none, error_of(failure.error()));
}

void Connection::handle_context_error(const wire::ContextError& error) {
  const std::scoped_lock lock(events_);
  const auto found = known_.find(error.context());
  if (found == known_.end() || found->second->kind != Kind::context) return;
  const ContextBody& context = body_of<ContextBody>(*found->second);
  if (context.notify == nullptr) return;
  std::string text = error.text() == nullptr ? "" : error.text()->str();
  std::vector<std::uint8_t> data;
  if (error.data() != nullptr) data.assign(error.data()->begin(), error.data()->end());
  client.callbacks.post([notify = context.notify, user_data = context.user_data, text = std::move(text),
                         data = std::move(data)] {
    notify(text.c_str(), data.empty() ? nullptr : data.data(), data.size(), user_data);
  });
}

void Connection::handle_end(Id memory) {
  std::function<void()> function;
  {
    const std::scoped_lock lock(events_);
    const auto found = ending_.find(memory);
    if (found == ending_.end()) return;
    function = std::move(found->second);
    ending_.erase(found);
  }
  function();
}

// What kernels print is the program's own output, and goes where its own would.
bool Connection::print(std::uint64_t payload) {
  std::array<std::byte, 4096> bytes;
  while (payload != 0) {
    const std::size_t now = std::min<std::uint64_t>(payload, bytes.size());
    if (!input_.read_payload({bytes.data(), now})) return false;
    std::fwrite(bytes.data(), 1, now, stdout);
    payload -= now;
  }
  std::fflush(stdout);
  return true;
}

// By the reader, once: nothing comes any more.
void Connection::end_all() {
  std::unordered_map<std::uint32_t, Pending*> requests;
  std::unordered_map<Id, Object*> events;
  std::unordered_map<Id, std::function<void()>> ends;
  {
    const std::scoped_lock lock(requests_, events_);
    if (gone_.exchange(true, std::memory_order_acq_rel)) return;
    requests.swap(pending_);
    reads_.clear();
    events.swap(expected_);
    ends.swap(ending_);
  }
  stream_->shutdown();
  for (const auto& [number, pending] : requests) {
    pending->error = kGone;
    finish(*pending);
  }
  for (const auto& [id, event] : events) {
    set_status(*event, kGone);
    client.objects.drop(*event);
  }
  for (const auto& [id, function] : ends) function();
  ended_.store(true, std::memory_order_release);
}

void Connection::expect(Object& event) {
  client.objects.hold(event);
  const std::scoped_lock lock(events_);
  expected_.emplace(body_of<EventBody>(event).id, &event);
}

void Connection::forget(Object& event) {
  {
    const std::scoped_lock lock(events_);
    if (expected_.erase(body_of<EventBody>(event).id) == 0) return;
  }
  client.objects.drop(event);
}

void Connection::at_end_of(Id memory, std::function<void()> function) {
  {
    const std::scoped_lock lock(events_);
    if (alive()) {
      ending_.emplace(memory, std::move(function));
      return;
    }
  }
  function();
}

void Connection::introduce(Object& object) {
  const std::scoped_lock lock(events_);
  known_.emplace(body_of<Body>(object).id, &object);
}

Object* Connection::introduced(Id object) {
  const std::scoped_lock lock(events_);
  const auto found = known_.find(object);
  return found == known_.end() ? nullptr : found->second;
}

void Connection::dismiss(Id object) {
  const std::scoped_lock lock(events_);
  known_.erase(object);
}

}  // namespace cleave::remote::client
