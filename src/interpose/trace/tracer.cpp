#include "interpose/trace/tracer.h"

#include <algorithm>

#include "base/threads/scoped_thread_state.h"

namespace cleave::interpose {
namespace {

std::string count_of(std::uint64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "es");
}

}  // namespace

Tracer::Tracer(const TraceSources& sources)
    : from_(sources),
      table_(sources.next),
      trace_(sources.configuration.settings.trace,
             "Cleave " CLEAVE_VERSION ", " + sources.face + ", policy " +
                 sources.configuration.value_of("split.policy"),
             sources.forks, sources.clock),
      times_(sources.forks, sources.next, sources.devices, sources.clock),
      policy_(sources.configuration.value_of("split.policy")),
      events_(sources.forks, base::ForkOrder::traced_events) {
  table_.clEnqueueNDRangeKernel = &LaunchTrace::enqueue;
  sources.forks.add<&Tracer::reset_in_child>(base::ForkOrder::tracer, mutex_, *this);
}

std::optional<Tracer::Queue> Tracer::find(cl_command_queue queue) noexcept {
  const base::MutexLock lock(mutex_);
  const auto found = queues_.find(queue);
  return found != queues_.end() ? std::optional(found->second) : std::nullopt;
}

// Queues without a record may be released unseen, so they are not remembered.
std::optional<Tracer::Queue> Tracer::find_or_ask(cl_command_queue handle) noexcept try {
  if (auto known = find(handle)) return known;
  const auto record = from_.records.queues.find(handle);
  if (!record) return std::nullopt;
  Queue queue;
  queue.track = times_.new_track();
  queue.in_order = record->in_order;
  queue.profiling = record->profiling;
  queue.device = record->device;
  observe::TraceEvents events;
  {
    const base::MutexLock lock(mutex_);
    queue.number = ++count_;
    queue = queues_.try_emplace(handle, queue).first->second;  // another thread may have added it
  }
  times_.name(handle, "queue " + std::to_string(queue.number));
  events.name_track(queue.track, describe(queue));
  write(events);
  return queue;
} catch (...) {
  return std::nullopt;
}

std::string Tracer::describe(const Queue& queue) const {
  return "queue " + std::to_string(queue.number) + " (" + from_.devices.of(queue.device)->name +
         (queue.in_order ? ")" : ", out of order)");
}

std::uint64_t Tracer::note_launch(cl_command_queue handle, base::Nanoseconds begin) noexcept {
  const base::MutexLock lock(mutex_);
  const auto found = queues_.find(handle);
  if (found == queues_.end()) return 0;
  Queue& queue = found->second;
  if (queue.newest == queue.seen) queue.since = begin;
  return ++queue.newest;
}

// All launches on the queue up to `number` are now known to have ended.
void Tracer::note_seen(cl_command_queue handle, std::uint64_t number, base::Nanoseconds time,
                       observe::TraceEvents& events) {
  Queue before;
  {
    const base::MutexLock lock(mutex_);
    const auto found = queues_.find(handle);
    if (found == queues_.end() || found->second.seen >= number) return;
    before = found->second;
    found->second.seen = number;
    found->second.since = time;
  }
  const std::uint64_t launches = number - before.seen;
  const std::string arguments = base::JsonObject().add("launches", launches).text();
  events.span(before.track, before.since, time, {count_of(launches, "launch"), "queue", arguments});
}

void Tracer::note_vms(base::Nanoseconds time, observe::TraceEvents& events) {
  const unsigned vms = from_.neighbours.vms();
  if (vms_.exchange(vms, std::memory_order_relaxed) != vms) events.counter(time, "VMs", vms);
}

void Tracer::write(const observe::TraceEvents& events) noexcept {
  trace_.add(events, observe::thread_track());
}

WaitTrace Tracer::wait_begins(const char* function, cl_command_queue handle) noexcept try {
  const base::ScopedCancelDisable uncancelled;  // it may write a file
  WaitTrace wait;
  if (!from_.owner.is_this()) return wait;
  wait.active = true;
  wait.queue = handle;
  observe::TraceEvents events;
  base::JsonObject arguments;
  if (const auto queue = handle != nullptr ? find_or_ask(handle) : std::nullopt) {
    wait.newest = queue->newest;
    arguments.add("queue", queue->number);
  }
  const base::Nanoseconds now = from_.clock.now();
  note_vms(now, events);
  events.begin(observe::thread_track(), now, {function, "wait", arguments.text()});
  write(events);
  trace_.flush();
  return wait;
} catch (...) {
  return {};
}

void Tracer::wait_ends(const WaitTrace& wait, const WaitInfo& how, cl_int error, bool all) noexcept try {
  const base::ScopedCancelDisable uncancelled;
  if (!wait.active) return;
  const base::Nanoseconds now = from_.clock.now();
  observe::TraceEvents events;
  base::JsonObject arguments;
  arguments.add("how", how.sleeping ? "sleeping" : "native");
  if (how.sleeping) arguments.add("slept_us", how.slept.count() / 1000);
  if (error != CL_SUCCESS) arguments.add("error", error);
  events.end(observe::thread_track(), now, arguments.text());
  const auto queue = error == CL_SUCCESS && wait.queue != nullptr ? find(wait.queue) : std::nullopt;
  if (queue && (all || queue->in_order)) {
    note_seen(wait.queue, wait.newest, now, events);
    times_.collect(wait.queue, events);
  }
  write(events);
} catch (...) {
}

// On an in-order queue everything before the event has ended too.
void Tracer::wait_ends(const WaitTrace& wait, const WaitInfo& how, cl_int error,
                       std::span<const cl_event> list) noexcept try {
  const base::ScopedCancelDisable uncancelled;
  wait_ends(wait, how, error, false);
  if (!wait.active || error != CL_SUCCESS) return;
  const base::Nanoseconds now = from_.clock.now();
  observe::TraceEvents events;
  for (const cl_event event : list) {
    const auto traced = events_.find(event);
    if (!traced) continue;
    const auto queue = find(traced->queue);
    if (queue && queue->in_order) note_seen(traced->queue, traced->number, now, events);
    add_event(event, events);
    times_.collect(traced->queue, events);
  }
  write(events);
} catch (...) {
}

// Adds the times of the event's launch, once. Requires: the event stays alive meanwhile.
void Tracer::add_event(cl_event event, observe::TraceEvents& events) {
  std::optional<ProfiledSlice> slice;
  events_.update(event, [&](TracedEvent& traced) {
    if (!traced.profiled || traced.written) return;
    traced.written = true;
    slice = traced.slice;
  });
  if (slice && !times_.add_slice(*slice, event, events))
    events_.update(event, [](TracedEvent& traced) { traced.written = false; });
}

void Tracer::event_ended(cl_event event) noexcept try {
  observe::TraceEvents events;
  add_event(event, events);
  write(events);
} catch (...) {
}

void Tracer::event_released(cl_event event) noexcept try {
  const auto last = events_.release(event);
  if (!last || !last->profiled) return;
  observe::TraceEvents events;
  if (!last->written) times_.add_slice(last->slice, event, events);
  times_.collect(last->queue, events);
  write(events);
} catch (...) {
}

void Tracer::queue_released(cl_command_queue queue) noexcept try {
  observe::TraceEvents events;
  times_.collect(queue, events);
  write(events);
  times_.forget(queue);
  const base::MutexLock lock(mutex_);
  queues_.erase(queue);
} catch (...) {
  times_.forget(queue);
}

// The writer names threads that it does not know, so it is given the row, which has a name.
void Tracer::add_turn(const void* row, const TurnDevice& device, const TurnSpan& span) noexcept try {
  const base::ScopedCancelDisable uncancelled;  // it may write a file
  observe::TraceEvents events;
  observe::Track track = 0;
  {
    const base::MutexLock lock(mutex_);
    const auto [found, is_new] = turn_rows_.try_emplace(row, 0);
    if (is_new) found->second = times_.new_track();
    track = found->second;
    if (is_new) events.name_track(track, "turns on " + device.name);
  }
  base::JsonObject arguments;
  if (span.launch != 0) arguments.add("launch", span.launch);
  if (span.ended != nullptr) arguments.add("ended", span.ended);
  if (!device.identity.empty()) arguments.add("device", device.identity);
  const bool holds = span.what == TurnSpan::What::hold;
  events.span(track, span.begin, span.end,
              {holds ? "has the device" : "wait for the device", "turn", arguments.text()});
  trace_.add(events, track);
} catch (...) {
}

std::uint64_t Tracer::launch_in_progress() noexcept {
  return LaunchTrace::current_ != nullptr ? LaunchTrace::current_->number_ : 0;
}

void Tracer::end(bool without_events) noexcept try {
  observe::TraceEvents events;
  {
    const base::MutexLock lock(mutex_);
    for (const auto& [handle, queue] : queues_) {
      if (queue.newest == queue.seen) continue;
      const std::string arguments = base::JsonObject().add("launches", queue.newest - queue.seen).text();
      events.instant(queue.track, queue.since, {"end not seen from here on", "queue", arguments});
    }
  }
  write(events);
  trace_.end(without_events);
} catch (...) {
  trace_.end();
}

void Tracer::reset_in_child() noexcept {
  queues_.clear();
  turn_rows_.clear();
  vms_.store(0, std::memory_order_relaxed);
}

}  // namespace cleave::interpose
