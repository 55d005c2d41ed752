#include "interpose/waits/wait.h"

#include <vector>

#include "base/threads/scoped_thread_state.h"
#include "interpose/polling/sleeping_poll.h"
#include "interpose/state/callback_scope.h"

namespace cleave::interpose {
namespace {

using namespace std::chrono_literals;

// Shorter waits are not worth a marker. A watch takes longer than the driver's own wait.
constexpr base::Nanoseconds kBriefNatively = 50us;
constexpr base::Nanoseconds kBriefWatched = 80us;

// Timed launches that are shorter are left to the driver's wait, since a watch would notice their end too late.
constexpr base::Nanoseconds kTooShortToTime = 2ms;

// How long a driver is watched that is not known to make progress while no thread waits in it.
constexpr base::Nanoseconds kStallTimeout = 2s;

bool flush_pinned(const Table& next, RecordMap<QueueRecord>& queues, cl_command_queue queue) noexcept {
  const cl_int error = next.clFlush(queue);
  if (queues.unpin(queue)) next.clReleaseCommandQueue(queue);
  return error == CL_SUCCESS;
}

// Flushes all queues of the program: the awaited command may depend on any of them.
void flush_all(const WaitContext& context) noexcept try {
  std::vector<cl_command_queue> queues;
  context.records.queues.for_each([&](const void* handle, const QueueRecord&) {
    queues.push_back(static_cast<cl_command_queue>(const_cast<void*>(handle)));
  });
  for (cl_command_queue queue : queues) flush_if_known(context.next, context.records.queues, queue);
} catch (...) {  // out of memory: retried by the next call
}

// Whether the driver would accept a wait for these: all are events of one context.
bool can_be_waited_for(const Table& next, std::span<const cl_event> events) noexcept {
  cl_context first = nullptr;
  for (const cl_event event : events) {
    cl_context context = nullptr;
    if (event == nullptr || next.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context,
                                                static_cast<void*>(&context), nullptr) != CL_SUCCESS) {
      return false;
    }
    if (first != nullptr && context != first) return false;
    first = context;
  }
  return true;
}

// Flushes as a wait for these events would. Returns false if one of them belongs to an unknown queue.
bool flush_queues_of(const WaitContext& context, std::span<const cl_event> events) noexcept {
  cl_command_queue flushed = nullptr;
  for (const cl_event& event : events) {
    cl_command_queue queue = queue_of(context.next, {&event, 1});
    if (queue == nullptr || queue == flushed) continue;  // user events have no queue
    if (!flush_if_known(context.next, context.records.queues, queue)) return false;
    flushed = queue;
  }
  return true;
}

bool wants_watching(base::WaitMode mode, const DriverWaits& driver) {
  if (!driver.watchable.load(std::memory_order_relaxed)) return false;
  return mode == base::WaitMode::sleeping || driver.spinning.verdict() == SpinDetector::Verdict::spins;
}

// The driver's own waits do not spin, or execute the commands on the waiting thread.
bool is_never_watched(base::WaitMode mode, const DriverWaits& driver) {
  return mode == base::WaitMode::automatic && (driver.processor.load(std::memory_order_relaxed) ||
                                               driver.spinning.verdict() == SpinDetector::Verdict::sleeps);
}

// Null if waits on this queue are left to the driver.
DriverWaits* find_driver(const WaitContext& context, const std::optional<QueueRecord>& queue) noexcept {
  if (!queue || !queue->plain) return nullptr;
  DriverWaits* const driver = context.statistics.driver(context.devices, queue->device);
  return driver == nullptr || is_never_watched(context.mode, *driver) ? nullptr : driver;
}

}  // namespace

bool flush_if_known(const Table& next, RecordMap<QueueRecord>& queues, cl_command_queue queue) noexcept {
  return queues.pin(queue) && flush_pinned(next, queues, queue);
}

bool may_sleep(const WaitContext& context) noexcept {
  const base::WaitMode mode = context.mode;
  if (mode == base::WaitMode::native) return false;
  // Without restraint, as the policy `pressure` may have it, the neighbours can do without the processor.
  if (mode == base::WaitMode::automatic &&
      (context.neighbours.vms() < 2 || context.neighbours.use_restraint() == 0)) {
    return false;
  }
  const base::ScopedCancelDisable uncancelled;
  return !CallbackScope::inside() && context.owner.is_this();
}

bool may_sleep(const WaitContext& context, cl_command_queue queue) noexcept {
  if (!may_sleep(context)) return false;
  const base::ScopedCancelDisable uncancelled;
  return find_driver(context, context.records.queues.find(queue)) != nullptr;
}

cl_command_queue queue_of(const Table& next, std::span<const cl_event> events) noexcept {
  const base::ScopedCancelDisable uncancelled;
  for (const cl_event event : events) {
    cl_command_queue queue = nullptr;
    if (next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, static_cast<void*>(&queue),
                            nullptr) != CL_SUCCESS) {
      return nullptr;
    }
    if (queue != nullptr) return queue;
  }
  return nullptr;
}

Wait::Wait(const WaitContext& context, cl_command_queue queue, WaitKind kind, cl_event event) noexcept
    : context_(context), queue_(queue), kind_(kind) {
  if (!may_sleep(context)) return;
  const auto record = context.records.queues.find(queue);
  DriverWaits* const driver = find_driver(context, record);
  if (driver == nullptr) return;
  history_ = &context.statistics.of(queue);
  in_order_ = record->in_order;
  // A transfer with no earlier commands waits only for itself.
  const bool work = kind != WaitKind::events && history_->take_work();
  if (kind == WaitKind::transfer && !work) return;
  driver_ = driver;
  // While a user event is pending, a call that fails must fail at once: the program may then set the event.
  const bool free =
      kind != WaitKind::transfer || (context.records.pending_user_events.empty() && !history_->shared());
  start_ = context.clock.now();
  if (free && wants_watching(context.mode, *driver)) decide(event);
  // Querying it twice takes longer than a brief wait does.
  const bool is_known = driver->spinning.verdict() != SpinDetector::Verdict::unknown;
  if (!sleeping_ && !is_known && !history_->expects_brief(kind)) processor_ = context.clock.thread_time();
}

// From the launch that is waited for, if that is known; else from the queue's earlier waits, which may have been for others.
void Wait::decide(cl_event event) noexcept {
  const bool for_many = kind_ == WaitKind::events && event == nullptr;
  const auto timed = for_many ? std::nullopt : context_.timers.expected(queue_, start_, event);
  if (timed && timed->whole >= kTooShortToTime && timed->rest > 0s) {
    predicted_ = timed->rest;
    sleeping_ = true;
    return;
  }
  predicted_ = history_->predicted(kind_);
  const base::Nanoseconds whole = timed && timed->whole > 0s ? timed->whole : predicted_;
  const bool too_short = timed && whole < kTooShortToTime;
  sleeping_ = !too_short && !history_->expects_brief(kind_);
}

// Enqueues a marker behind all commands of the queue, which may be an event's: then another thread may release it.
bool Wait::mark() noexcept {
  if (!context_.records.queues.pin(queue_)) return false;
  cl_event made = nullptr;
  const bool marked = context_.next.clEnqueueMarkerWithWaitList(queue_, 0, nullptr, &made) == CL_SUCCESS;
  if (marked) marker_ = launch::Event(context_.next, made);
  return flush_pinned(context_.next, context_.records.queues, queue_) && marked;
}

void Wait::watch_queue(std::span<const cl_event> list) noexcept {
  if (!can_be_waited_for(context_.next, list)) return;
  const bool for_all = in_order_ || kind_ == WaitKind::finish;
  if (for_all) {
    if (!mark()) return;
    cl_event marker = marker_.get();
    if (!watch({&marker, 1})) return;
  }
  watch_list(list);
}

void Wait::watch_list(std::span<const cl_event> list) noexcept {
  if (!list.empty() && can_be_waited_for(context_.next, list) && flush_queues_of(context_, list)) watch(list);
}

bool Wait::watch(std::span<const cl_event> events) noexcept {
  const base::ScopedPreciseSleep undisturbed;
  const bool trusted = driver_->ends_unwaited.load(std::memory_order_relaxed);
  const WatchResult seen = watch_events(
      context_.next, context_.clock, events,
      {.schedule = PollSchedule(predicted_),
       .start = start_,
       // A command that waits for a user event may wait for this thread.
       .stall_timeout = trusted && context_.records.pending_user_events.empty() ? 0s : kStallTimeout,
       .stop = kind_ == WaitKind::transfer ? &history_->shared() : nullptr,
       .on_delay = [this] { flush_all(context_); }});
  if (seen.ends_unwaited) driver_->ends_unwaited.store(true, std::memory_order_relaxed);
  slept_ += seen.slept;
  watched_ = context_.clock.now() - start_;
  return seen.complete;
}

void Wait::end() noexcept {
  if (driver_ == nullptr) return;
  if (watched_) {
    history_->add_wait(kind_, *watched_, *watched_ < kBriefWatched);
    if (slept_ > 0s) context_.statistics.count(slept_);
    return;
  }
  const base::Nanoseconds took = context_.clock.now() - start_;
  history_->add_wait(kind_, took, took < kBriefNatively);
  if (processor_) driver_->spinning.add(took, context_.clock.thread_time() - *processor_);
}

}  // namespace cleave::interpose
