#include "remote/server/queues/queue.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "opencl/info.h"

namespace cleave::remote::server {
namespace {

// That many unawaited commands on a queue are reported although the client waits for none of them; those without an event do
// not count. Across queues, and for all, there is ClientSession::report_unawaited_if_crowded().
constexpr std::size_t kMaxUnawaited = 64;

}  // namespace

void Queue::register_read(Pending& pending) {
  if (!pending.is_read || pending.request == 0 || pending.event.get() == nullptr) return;
  pending.read = std::make_shared<PendingRead>();
  static_cast<CommandPart&>(*pending.read) = {
      pending.event.duplicate(), pending.first.duplicate(), pending.request, pending.at, pending.more,
      std::move(pending.data),   std::move(pending.kept)};
  reads_.register_read(info_.id, info_.in_order, pending.read);
}

void Queue::add(Pending pending, WaitedBy waited_by) {
  register_read(pending);
  if (info_.in_order) {
    push(std::move(pending), waited_by);
  } else {
    add_with_callback(std::move(pending));
  }
}

void Queue::push(Pending pending, WaitedBy waited_by) {
  pending.before = std::exchange(without_event_, 0);
  pending.overhead += std::exchange(overhead_without_event_, 0);
  bool wake = false;
  {
    const base::MutexLock lock(mutex_);
    awaited_ += pending.is_awaited() ? 1 : 0;
    pending_.push_back(std::move(pending));
    wake = !batch_taken_ && has_work();
  }
  if (wake && waited_by == WaitedBy::by_watcher) wake_watcher();
}

void Queue::observe_last() {
  if (without_event_ == 0) return;
  --without_event_;  // the marker stands for it
  cl_event marker = nullptr;
  Pending last;
  last.error = cl_.clEnqueueMarkerWithWaitList(info_.handle, 0, nullptr, &marker);
  if (last.error == CL_SUCCESS) last.event = EventReference(cl_, marker);
  push(std::move(last), WaitedBy::by_watcher);
}

cl_int Queue::flush() {
  observe_last();
  return cl_.clFlush(info_.handle);
}

// Starts the watcher if it does not run. The thread is the queue's: see the header for its end.
void Queue::wake_watcher() {
  {
    const base::MutexLock lock(mutex_);
    if (!watcher_running_) {
      watcher_running_ = true;
      std::thread([self = shared_from_this()] { self->watch(); }).detach();
    }
  }
  wake_.notify_one();
}

void Queue::resume_watcher() {
  {
    const base::MutexLock lock(mutex_);
    if (batch_taken_ || !has_work()) return;
  }
  wake_watcher();
}

void Queue::report_unawaited() {
  observe_last();
  {
    const base::MutexLock lock(mutex_);
    report_all_ = !pending_.empty();
  }
  resume_watcher();
}

void Queue::poll_awaited(const std::function<bool()>& is_wanted) {
  std::vector<Pending> batch = take_awaited();
  if (batch.empty()) return resume_watcher();
  const Pending* const last = last_with_event(batch);
  const auto has_ended = [&] { return last == nullptr || status(*last) <= CL_COMPLETE; };
  if (!spin_.until(has_ended, is_wanted)) return put_back(std::move(batch));
  report(batch);
  end_poll();
}

bool Queue::has_work() const {
  return awaited_ > 0 || pending_.size() >= kMaxUnawaited || (report_all_ && !pending_.empty());
}

// After poll_awaited(): leaves the other commands to the watcher.
void Queue::end_poll() {
  {
    const base::MutexLock lock(mutex_);
    batch_taken_ = false;
    const bool is_ending = stopping_ && (watcher_running_ || !pending_.empty());
    if (!has_work() && !is_ending) return;
  }
  wake_watcher();
}

cl_int Queue::finish(std::uint32_t request, WaitedBy waited_by) {
  Pending pending;
  pending.request = request;
  if (!info_.in_order) {
    cl_event marker = nullptr;
    const cl_int error = cl_.clEnqueueMarkerWithWaitList(info_.handle, 0, nullptr, &marker);
    if (error != CL_SUCCESS) return error;
    pending.event = EventReference(cl_, marker);
    return add_with_callback(std::move(pending));
  }
  bool idle = false;
  {
    const base::MutexLock lock(mutex_);
    idle = !batch_taken_ && pending_.empty();
  }
  if (!idle) {
    push(std::move(pending), waited_by);
    return CL_SUCCESS;
  }
  std::vector<Pending> one;
  one.push_back(std::move(pending));
  report(one);
  return CL_SUCCESS;
}

void Queue::stop_when_idle() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    if (!watcher_running_ && pending_.empty()) return;
  }
  wake_watcher();
}

void Queue::release_when_idle() {
  {
    const base::MutexLock lock(mutex_);
    release_requested_ = true;
  }
  stop_when_idle();
  if (take_release_request()) cl_.clReleaseCommandQueue(info_.handle);
}

// Returns true once, to the thread that has to release the driver's queue.
bool Queue::take_release_request() {
  const base::MutexLock lock(mutex_);
  return !watcher_running_ && pending_.empty() && callbacks_.empty() &&
         std::exchange(release_requested_, false);
}

void Queue::watch() {
  while (true) {
    std::vector<Pending> batch = take_batch();
    if (batch.empty()) break;
    wait_for(batch);
    take_ended(batch);
    report(batch);
    const base::MutexLock lock(mutex_);
    batch_taken_ = false;
  }
  bool release_queue = false;
  {
    const base::MutexLock lock(mutex_);
    release_queue = std::exchange(release_requested_, false);
  }
  if (release_queue) cl_.clReleaseCommandQueue(info_.handle);
  const base::MutexLock lock(mutex_);
  watcher_running_ = false;
  ended_.notify_all();
}

void Queue::wait_until_stopped() {
  base::MutexLock lock(mutex_);
  failures_possible_ = false;
  while (watcher_running_ || polling_failures_) ended_.wait(lock);
}

// The commands up to and including the first awaited one.
std::vector<Pending> Queue::take_batch() {
  std::vector<Pending> batch;
  base::MutexLock lock(mutex_);
  while (batch_taken_ || !(has_work() || stopping_)) wake_.wait(lock);
  while (!pending_.empty()) {
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
    if (batch.back().is_awaited()) {
      --awaited_;
      break;
    }
  }
  report_all_ = report_all_ && !pending_.empty();
  batch_taken_ = !batch.empty();
  return batch;
}

// The commands up to and including the last awaited one; none while the watcher waits for a batch.
std::vector<Pending> Queue::take_awaited() {
  std::vector<Pending> batch;
  const base::MutexLock lock(mutex_);
  if (batch_taken_) return batch;
  while (awaited_ > 0) {
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
    awaited_ -= batch.back().is_awaited() ? 1 : 0;
  }
  batch_taken_ = !batch.empty();
  return batch;
}

void Queue::put_back(std::vector<Pending> batch) {
  {
    const base::MutexLock lock(mutex_);
    for (auto last = batch.rbegin(); last != batch.rend(); ++last) {
      awaited_ += last->is_awaited() ? 1 : 0;
      pending_.push_front(std::move(*last));
    }
    batch_taken_ = false;
  }
  wake_watcher();
}

// Null: no command of the batch has an event.
const Pending* Queue::last_with_event(const std::vector<Pending>& batch) {
  const auto last = std::find_if(batch.rbegin(), batch.rend(),
                                 [](const Pending& pending) { return pending.event.get() != nullptr; });
  return last == batch.rend() ? nullptr : &*last;
}

void Queue::wait_for(const std::vector<Pending>& batch) {
  const Pending* const last = last_with_event(batch);
  if (last == nullptr) return;
  cl_event event = last->event.get();
  cl_.clWaitForEvents(1, &event);
}

// Adds the commands that have ended meanwhile. Only this thread takes from the front.
void Queue::take_ended(std::vector<Pending>& batch) {
  constexpr std::size_t kMaxBatch = 512;
  while (batch.size() < kMaxBatch) {
    const Pending* front = nullptr;
    {
      const base::MutexLock lock(mutex_);
      if (pending_.empty()) return;
      front = &pending_.front();  // stays where it is while others are added behind it
    }
    if (front->event.get() != nullptr && status(*front) > CL_COMPLETE) return;
    const base::MutexLock lock(mutex_);
    awaited_ -= front->is_awaited() ? 1 : 0;
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
}

cl_int Queue::status(const Pending& pending) const {
  if (pending.event.get() == nullptr) return pending.error;
  return status_of(cl_, pending.event, pending.first);
}

std::optional<wire::Times> Queue::times(const Pending& pending) const {
  if (!profiling_.load(std::memory_order_relaxed)) return {};
  cl_event const end = pending.event.get();
  cl_event const begin = pending.first.get() != nullptr ? pending.first.get() : end;
  const auto ask = [this](cl_event event, cl_profiling_info what) {
    return opencl::info<cl_ulong>(cl_.clGetEventProfilingInfo, event, what);
  };
  const cl_ulong end_time = ask(end, CL_PROFILING_COMMAND_END);
  const cl_ulong complete = ask(end, CL_PROFILING_COMMAND_COMPLETE);
  return wire::Times(ask(begin, CL_PROFILING_COMMAND_QUEUED), ask(begin, CL_PROFILING_COMMAND_SUBMIT),
                     ask(begin, CL_PROFILING_COMMAND_START), end_time, complete != 0 ? complete : end_time);
}

// Whether a failure is reported with the last part of the client's command.
bool Queue::is_reported_by_last_part(const Pending& pending) const {
  if (pending.ends) return false;
  return pending.first.get() == nullptr || status_of(cl_, pending.first.get()) < CL_COMPLETE;
}

// The client may change the contents of shared memory as soon as it knows of the end, so it must be unpinned before
// that.
void Queue::report_one(Pending& pending, EventsFrame& frame) {
  pending.kept.reset();
  const cl_int ended = status(pending);
  if (ended <= CL_COMPLETE && pending.slot != nullptr) pending.slot->return_once();
  if (pending.request != 0 && pending.read == nullptr)
    frame.answer(pending.request, std::min(ended, CL_SUCCESS));
  if (pending.event_id != 0) frame.completion(pending.event_id, ended, times(pending));
  if (ended < CL_COMPLETE && pending.event_id == 0 && pending.request == 0 &&
      !is_reported_by_last_part(pending))
    frame.failure(0, info_.id, ended);
  outbox_.count_ended(pending.before + (pending.ends ? 1 : 0), pending.bytes, pending.overhead);
}

void Queue::report(std::vector<Pending>& ended) {
  reads_.send_ended(info_.id);
  send_completions(ended);
}

void Queue::send_completions(std::vector<Pending>& ended) {
  EventsFrame frame;
  std::optional<PendingReads::AnswerBatch> batch;
  for (Pending& pending : ended) {
    if (pending.read != nullptr && !pending.read->sent.load(std::memory_order_acquire)) {
      if (!batch) batch.emplace(reads_);
      batch->add(*pending.read, frame);
    }
    report_one(pending, frame);
    if (frame.is_full()) outbox_.send(frame);
  }
  if (!frame.empty() || outbox_.has_unreported(report_every_.commands, report_every_.bytes))
    outbox_.send(frame);
  ended.clear();
}

}  // namespace cleave::remote::server
