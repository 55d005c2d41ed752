// Out-of-order queues: the driver calls back at each command's end; failures are also polled for.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "remote/server/queues/queue.h"

namespace cleave::remote::server {
namespace {

// The longest time between two polls for failures without a callback.
constexpr std::chrono::milliseconds kMaxPollPause{20};

}  // namespace

struct Queue::PendingCallback : std::enable_shared_from_this<Queue::PendingCallback> {
  PendingCallback(std::shared_ptr<Queue> of, Pending what)
      : queue(std::move(of)), kept(what.event.duplicate()), event(kept.get()), pending(std::move(what)) {}

  const std::shared_ptr<Queue> queue;
  const EventReference kept;
  const cl_event event;
  Pending pending;  // used by the thread that removes this from the queue's callbacks

  // Reports the command unless another thread has.
  void report_once() {
    if (auto one = take(); !one.empty()) queue->report(one);
    queue->release_on_worker();
  }

  static void CL_CALLBACK ended(cl_event, cl_int, void* data) {
    const std::unique_ptr<std::shared_ptr<PendingCallback>> callback(
        static_cast<std::shared_ptr<PendingCallback>*>(data));
    const std::shared_ptr<PendingCallback>& one = *callback;
    if (one->queue->reads_.has_unsent())
      return one->queue->reads_.run_on_worker([one] { one->report_once(); });
    if (auto taken = one->take(); !taken.empty()) one->queue->send_completions(taken);
    one->queue->release_on_worker();
  }

 private:
  std::vector<Pending> take() {
    std::vector<Pending> one;
    const base::MutexLock lock(queue->mutex_);
    if (queue->callbacks_.erase(shared_from_this()) != 0) one.push_back(std::move(pending));
    return one;
  }
};

cl_int Queue::add_with_callback(Pending pending) {
  const auto one = std::make_shared<PendingCallback>(shared_from_this(), std::move(pending));
  auto callback = std::make_unique<std::shared_ptr<PendingCallback>>(one);
  {
    const base::MutexLock lock(mutex_);
    callbacks_.insert(one);
  }
  const cl_int error =
      cl_.clSetEventCallback(one->event, CL_COMPLETE, &PendingCallback::ended, callback.get());
  if (error == CL_SUCCESS) {
    static_cast<void>(callback.release());
    start_failure_poll();
    return CL_SUCCESS;
  }
  // A driver without callbacks, or out of memory. The thread holds what it uses and ends with the command.
  std::thread([one] {
    one->queue->cl_.clWaitForEvents(1, &one->event);
    one->report_once();
  }).detach();
  return CL_SUCCESS;
}

void Queue::poll_for_failures() {
  if (info_.in_order) return;
  {
    const base::MutexLock lock(mutex_);
    failures_possible_ = true;
  }
  start_failure_poll();
}

// Polls at growing intervals until nothing is in flight. The thread holds a reference to the queue; wait_until_stopped()
// waits for its end.
void Queue::start_failure_poll() {
  {
    const base::MutexLock lock(mutex_);
    if (!failures_possible_ || polling_failures_ || callbacks_.empty()) return;
    polling_failures_ = true;
  }
  std::thread([self = shared_from_this()] {
    std::chrono::milliseconds rest{1};
    while (true) {
      std::this_thread::sleep_for(rest);
      rest = std::min(2 * rest, kMaxPollPause);
      self->report_failed();
      const base::MutexLock lock(self->mutex_);
      self->polling_failures_ = self->failures_possible_ && !self->callbacks_.empty();
      if (self->polling_failures_) continue;
      self->ended_.notify_all();
      return;
    }
  }).detach();
}

// The driver is queried without our lock: it may hold one of its own while it calls back.
void Queue::report_failed() {
  std::vector<std::shared_ptr<PendingCallback>> all;
  {
    const base::MutexLock lock(mutex_);
    all.assign(callbacks_.begin(), callbacks_.end());
  }
  for (const auto& one : all) {
    cl_int status = CL_COMPLETE;
    cl_.clGetEventInfo(one->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (status < CL_COMPLETE) one->report_once();
  }
}

// The driver may be calling back, so its queue is released on the worker thread.
void Queue::release_on_worker() {
  if (!take_release_request()) return;
  reads_.run_on_worker([self = shared_from_this()] { self->cl_.clReleaseCommandQueue(self->info_.handle); });
}

}  // namespace cleave::remote::server
