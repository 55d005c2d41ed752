#include "remote/server/queue.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace cleave::remote::server {
namespace {

// Where nobody waits for single commands, so many make the thread look after them.
constexpr std::size_t kUnawaited = 64;  // of one queue; see Session::look_if_crowded()

}  // namespace

void Queue::enter(Pending& pending) {
  if (!pending.is_read || pending.request == 0 || pending.event.get() == nullptr) return;
  pending.read = std::make_shared<Read>();
  pending.read->event = pending.event.another();
  pending.read->first = pending.first.another();
  pending.read->request = pending.request;
  pending.read->at = pending.at;
  pending.read->more = pending.more;
  pending.read->data = std::move(pending.data);
  reads_.enter(facts_.id, facts_.in_order, pending.read);
}

void Queue::add(Pending pending, Then then) {
  enter(pending);
  if (facts_.in_order) {
    push(std::move(pending), then);
  } else {
    call_back(std::move(pending));
  }
}

void Queue::push(Pending pending, Then then) {
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    awaited_ += pending.is_awaited() ? 1 : 0;
    pending_.push_back(std::move(pending));
    wake = !busy_ && has_work();
  }
  if (wake && then == Then::watched) wake_watcher();
}

// Starts it where it does not run.
void Queue::wake_watcher() {
  {
    const std::scoped_lock lock(mutex_);
    if (!watched_) {
      watched_ = true;
      std::thread([self = shared_from_this()] { self->watch(); }).detach();
    }
  }
  wake_.notify_one();
}

void Queue::watch_on() {
  {
    const std::scoped_lock lock(mutex_);
    if (busy_ || !has_work()) return;
  }
  wake_watcher();
}

void Queue::look() {
  {
    const std::scoped_lock lock(mutex_);
    looks_ = !pending_.empty();
  }
  watch_on();
}

void Queue::settle(const std::function<bool()>& is_wanted) {
  std::vector<Pending> batch = take_awaited();
  if (batch.empty()) return watch_on();
  const Pending* const last = last_of_driver(batch);
  const auto has_ended = [&] { return last == nullptr || status(*last) <= CL_COMPLETE; };
  if (!linger_.until(has_ended, is_wanted)) return put_back(std::move(batch));
  report(batch);
  rest();
}

// Under the mutex.
bool Queue::has_work() const {
  return awaited_ > 0 || pending_.size() >= kUnawaited || (looks_ && !pending_.empty());
}

// After settle(): what is left is the watcher's.
void Queue::rest() {
  {
    const std::scoped_lock lock(mutex_);
    busy_ = false;
    const bool is_ending = let_go_ && (watched_ || !pending_.empty());
    if (!has_work() && !is_ending) return;
  }
  wake_watcher();
}

cl_int Queue::finish(std::uint32_t request, Then then) {
  Pending pending;
  pending.request = request;
  if (!facts_.in_order) {
    cl_event marker = nullptr;
    const cl_int error = cl_.clEnqueueMarkerWithWaitList(facts_.handle, 0, nullptr, &marker);
    if (error != CL_SUCCESS) return error;
    pending.event = EventReference(cl_, marker);
    return call_back(std::move(pending));
  }
  bool idle = false;
  {
    const std::scoped_lock lock(mutex_);
    idle = !busy_ && pending_.empty();
  }
  if (!idle) {
    push(std::move(pending), then);
    return CL_SUCCESS;
  }
  std::vector<Pending> one;
  one.push_back(std::move(pending));
  report(one);
  return CL_SUCCESS;
}

void Queue::let_go() {
  {
    const std::scoped_lock lock(mutex_);
    let_go_ = true;
    if (!watched_ && pending_.empty()) return;
  }
  wake_watcher();
}

void Queue::give_back() {
  {
    const std::scoped_lock lock(mutex_);
    gives_back_ = true;
  }
  let_go();
  if (is_to_be_given_back()) cl_.clReleaseCommandQueue(facts_.handle);
}

// Yes is said once.
bool Queue::is_to_be_given_back() {
  const std::scoped_lock lock(mutex_);
  return !watched_ && pending_.empty() && called_.empty() && std::exchange(gives_back_, false);
}

void Queue::watch() {
  while (true) {
    std::vector<Pending> batch = take_batch();
    if (batch.empty()) break;
    wait_for(batch);
    take_ended(batch);
    report(batch);
    const std::scoped_lock lock(mutex_);
    busy_ = false;
  }
  bool gives_back = false;
  {
    const std::scoped_lock lock(mutex_);
    gives_back = std::exchange(gives_back_, false);
  }
  if (gives_back) cl_.clReleaseCommandQueue(facts_.handle);
  const std::scoped_lock lock(mutex_);
  watched_ = false;
  ended_.notify_all();
}

void Queue::await_end() {
  std::unique_lock lock(mutex_);
  may_fail_ = false;
  ended_.wait(lock, [this] { return !watched_ && !looked_after_; });
}

// Up to and with the first command that somebody waits for.
std::vector<Pending> Queue::take_batch() {
  std::vector<Pending> batch;
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return !busy_ && (has_work() || let_go_); });
  while (!pending_.empty()) {
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
    if (batch.back().is_awaited()) {
      --awaited_;
      break;
    }
  }
  looks_ = looks_ && !pending_.empty();
  busy_ = !batch.empty();
  return batch;
}

// Up to and with the last one, unless the watcher has its hands full.
std::vector<Pending> Queue::take_awaited() {
  std::vector<Pending> batch;
  const std::scoped_lock lock(mutex_);
  if (busy_) return batch;
  while (awaited_ > 0) {
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
    awaited_ -= batch.back().is_awaited() ? 1 : 0;
  }
  busy_ = !batch.empty();
  return batch;
}

void Queue::put_back(std::vector<Pending> batch) {
  {
    const std::scoped_lock lock(mutex_);
    for (auto last = batch.rbegin(); last != batch.rend(); ++last) {
      awaited_ += last->is_awaited() ? 1 : 0;
      pending_.push_front(std::move(*last));
    }
    busy_ = false;
  }
  wake_watcher();
}

// Null: none of them is the driver's.
const Pending* Queue::last_of_driver(const std::vector<Pending>& batch) {
  const auto last = std::find_if(batch.rbegin(), batch.rend(),
                                 [](const Pending& pending) { return pending.event.get() != nullptr; });
  return last == batch.rend() ? nullptr : &*last;
}

void Queue::wait_for(const std::vector<Pending>& batch) {
  const Pending* const last = last_of_driver(batch);
  if (last == nullptr) return;
  cl_event event = last->event.get();
  cl_.clWaitForEvents(1, &event);
}

// What has ended meanwhile, too. Only this thread takes from the front.
void Queue::take_ended(std::vector<Pending>& batch) {
  constexpr std::size_t kMost = 512;
  while (batch.size() < kMost) {
    const Pending* front = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      if (pending_.empty()) return;
      front = &pending_.front();  // stays where it is while others are added behind it
    }
    if (front->event.get() != nullptr && status(*front) > CL_COMPLETE) return;
    const std::scoped_lock lock(mutex_);
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
    cl_ulong time = 0;
    return cl_.clGetEventProfilingInfo(event, what, sizeof time, &time, nullptr) == CL_SUCCESS ? time : 0;
  };
  const cl_ulong end_time = ask(end, CL_PROFILING_COMMAND_END);
  const cl_ulong complete = ask(end, CL_PROFILING_COMMAND_COMPLETE);
  return wire::Times(ask(begin, CL_PROFILING_COMMAND_QUEUED), ask(begin, CL_PROFILING_COMMAND_SUBMIT),
                     ask(begin, CL_PROFILING_COMMAND_START), end_time, complete != 0 ? complete : end_time);
}

// What the first of several parts has failed with is what the last one ends with.
bool Queue::is_told_by_last(const Pending& pending) const {
  if (pending.ends) return false;
  return pending.first.get() == nullptr || status_of(cl_, pending.first.get()) < CL_COMPLETE;
}

void Queue::report_one(Pending& pending, EventsFrame& frame) {
  const cl_int ended = status(pending);
  if (ended < CL_COMPLETE && pending.slot != nullptr) pending.slot->give_back();
  if (pending.request != 0 && pending.read == nullptr)
    frame.answer(pending.request, std::min(ended, CL_SUCCESS));
  if (pending.event_id != 0) frame.completion(pending.event_id, ended, times(pending));
  if (ended < CL_COMPLETE && pending.event_id == 0 && pending.request == 0 && !is_told_by_last(pending))
    frame.failure(0, facts_.id, ended);
  outbox_.count_ended(pending.ends ? 1 : 0, pending.bytes);
}

void Queue::report(std::vector<Pending>& ended) {
  reads_.tell_ended(facts_.id);
  tell_of(ended);
}

void Queue::tell_of(std::vector<Pending>& ended) {
  EventsFrame frame;
  std::optional<Reads::Telling> telling;
  for (Pending& pending : ended) {
    if (pending.read != nullptr && !pending.read->sent.load(std::memory_order_acquire)) {
      if (!telling) telling.emplace(reads_);
      telling->add(*pending.read, frame);
    }
    report_one(pending, frame);
    if (frame.is_full()) outbox_.send(frame);
  }
  if (!frame.empty() || outbox_.has_untold(report_every_.commands, report_every_.bytes)) outbox_.send(frame);
  ended.clear();
}

}  // namespace cleave::remote::server
