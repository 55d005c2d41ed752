// Queues out of order: the driver calls at each command's end, or somebody looks.
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "remote/server/queue.h"

namespace cleave::remote::server {
namespace {

// How long a failure that the driver does not tell may go unseen.
constexpr std::chrono::milliseconds kLongestLook{20};

}  // namespace

struct Queue::Called : std::enable_shared_from_this<Queue::Called> {
  Called(std::shared_ptr<Queue> of, Pending what)
      : queue(std::move(of)), event(what.event.get()), pending(std::move(what)) {
    queue->cl_.clRetainEvent(event);
  }
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;
  ~Called() { queue->cl_.clReleaseEvent(event); }

  const std::shared_ptr<Queue> queue;
  const cl_event event;
  Pending pending;  // of who takes it out of the queue's list

  // Once, whoever comes first.
  void tell() {
    if (auto one = take(); !one.empty()) queue->report(one);
    queue->give_back_apart();
  }

  static void CL_CALLBACK ended(cl_event, cl_int, void* data) {
    const std::unique_ptr<std::shared_ptr<Called>> called(static_cast<std::shared_ptr<Called>*>(data));
    const std::shared_ptr<Called>& one = *called;
    if (one->queue->reads_.any()) return one->queue->reads_.apart([one] { one->tell(); });
    if (auto taken = one->take(); !taken.empty()) one->queue->tell_of(taken);
    one->queue->give_back_apart();
  }

 private:
  std::vector<Pending> take() {
    std::vector<Pending> one;
    const std::scoped_lock lock(queue->mutex_);
    if (queue->called_.erase(shared_from_this()) != 0) one.push_back(std::move(pending));
    return one;
  }
};

cl_int Queue::call_back(Pending pending) {
  const auto one = std::make_shared<Called>(shared_from_this(), std::move(pending));
  auto called = std::make_unique<std::shared_ptr<Called>>(one);
  {
    const std::scoped_lock lock(mutex_);
    called_.insert(one);
  }
  const cl_int error = cl_.clSetEventCallback(one->event, CL_COMPLETE, &Called::ended, called.get());
  if (error == CL_SUCCESS) {
    static_cast<void>(called.release());
    look_after_called();
    return CL_SUCCESS;
  }
  // A driver without callbacks, or out of memory: somebody has to wait.
  std::thread([one] {
    one->queue->cl_.clWaitForEvents(1, &one->event);
    one->tell();
  }).detach();
  return CL_SUCCESS;
}

void Queue::look_for_failures() {
  if (facts_.in_order) return;
  {
    const std::scoped_lock lock(mutex_);
    may_fail_ = true;
  }
  look_after_called();
}

// Looks at what may have failed, less often as time goes, until there is nothing under way.
void Queue::look_after_called() {
  {
    const std::scoped_lock lock(mutex_);
    if (!may_fail_ || looked_after_ || called_.empty()) return;
    looked_after_ = true;
  }
  std::thread([self = shared_from_this()] {
    std::chrono::milliseconds rest{1};
    while (true) {
      std::this_thread::sleep_for(rest);
      rest = std::min(2 * rest, kLongestLook);
      self->tell_failed();
      const std::scoped_lock lock(self->mutex_);
      self->looked_after_ = self->may_fail_ && !self->called_.empty();
      if (self->looked_after_) continue;
      self->ended_.notify_all();
      return;
    }
  }).detach();
}

// The driver is asked without our lock: it may hold one of its own while it calls back.
void Queue::tell_failed() {
  std::vector<std::shared_ptr<Called>> all;
  {
    const std::scoped_lock lock(mutex_);
    all.assign(called_.begin(), called_.end());
  }
  for (const auto& one : all) {
    cl_int status = CL_COMPLETE;
    cl_.clGetEventInfo(one->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (status < CL_COMPLETE) one->tell();
  }
}

// The driver may be calling back.
void Queue::give_back_apart() {
  if (!is_to_be_given_back()) return;
  reads_.apart([self = shared_from_this()] { self->cl_.clReleaseCommandQueue(self->facts_.handle); });
}

}  // namespace cleave::remote::server
