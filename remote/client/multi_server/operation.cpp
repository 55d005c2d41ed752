#include "remote/client/multi_server/operation.h"

#include <algorithm>
#include <utility>

#include "remote/client/api/api.h"
#include "remote/client/api/events.h"
#include "remote/client/link/connection.h"
#include "remote/client/objects/client.h"
#include "remote/client/objects/event_status.h"

namespace cleave::remote::client::multi_server {
namespace {

void CL_CALLBACK run_waiter(cl_event, cl_int status, void* data) {
  const std::unique_ptr<Waiter> waiter(static_cast<Waiter*>(data));
  (*waiter)(std::min(status, CL_COMPLETE));
}

}  // namespace

void on_end(Object& event, Waiter waiter) { notify_end(event, &run_waiter, new Waiter(std::move(waiter))); }

cl_int wait_for_end(cl_event handle) {
  const EventState& event = state_of<EventState>(object_of(handle));
  event.connection->wait([&] { return client::is_over(event); });
  return client::is_over(event) ? std::min(event.status.load(), CL_SUCCESS) : kConnectionLost;
}

// No other reference to the operation exists any more.
Operation::~Operation() CLEAVE_NO_THREAD_SAFETY_ANALYSIS {
  if (event_ != nullptr) client.objects.drop(*event_);
}

void Operation::bind_event(Object& event) {
  client.objects.hold(event);
  bool is_awaited = false;
  {
    const base::MutexLock lock(mutex_);
    event_ = &event;
    is_awaited = observed_ = !waiters_.empty();
  }
  if (is_awaited) observe(event);
}

void Operation::end(cl_int status) {
  std::vector<Waiter> waiters;
  {
    const base::MutexLock lock(mutex_);
    if (ended_) return;
    ended_ = true;
    status_ = status;
    waiters.swap(waiters_);
  }
  for (const Waiter& waiter : waiters) waiter(status);
}

void Operation::cancel() {
  {
    const base::MutexLock lock(mutex_);
    cancelled_ = true;
  }
  end(CL_COMPLETE);
}

bool Operation::has_ended() const {
  return ended_ || (event_ != nullptr && client::is_over(state_of<EventState>(*event_)));
}

cl_int Operation::status() const {
  return ended_ || event_ == nullptr ? status_
                                     : std::min(state_of<EventState>(*event_).status.load(), CL_COMPLETE);
}

bool Operation::is_over() {
  const base::MutexLock lock(mutex_);
  return has_ended();
}

bool Operation::has_failed() {
  const base::MutexLock lock(mutex_);
  return cancelled_ || (has_ended() && status() < CL_COMPLETE);
}

bool Operation::is_sent() {
  const base::MutexLock lock(mutex_);
  return ended_ || event_ != nullptr;
}

bool Operation::has_event() {
  const base::MutexLock lock(mutex_);
  return event_ != nullptr;
}

bool Operation::is_bound_to(const Object& event) {
  const base::MutexLock lock(mutex_);
  return event_ == &event;
}

void Operation::on_end(Waiter waiter) {
  Object* to_observe = nullptr;
  cl_int now = CL_COMPLETE;
  {
    const base::MutexLock lock(mutex_);
    if (has_ended()) {
      now = status();
    } else {
      waiters_.push_back(std::exchange(waiter, nullptr));
      if (event_ != nullptr && !std::exchange(observed_, true)) to_observe = event_;
    }
  }
  if (waiter != nullptr) waiter(now);
  if (to_observe != nullptr) observe(*to_observe);
}

void Operation::observe(Object& event) {
  multi_server::on_end(event, [self = shared_from_this()](cl_int status) { self->end(status); });
}

Gate::~Gate() {
  if (const cl_event event = event_.load()) client::clReleaseEvent(event);
}

cl_event Gate::create_event(Object& shard, cl_int& error) {
  event_.store(make_user_event(shard, SetBy::us, &error));
  return event_.load();
}

void Gate::wait_for(Operation& operation) {
  hold();
  operation.on_end([self = shared_from_this()](cl_int status) { self->resolve_one(status); });
}

void Gate::wait_for(Object& event) {
  hold();
  multi_server::on_end(event, [self = shared_from_this()](cl_int status) { self->resolve_one(status); });
}

void Gate::resolve_one(cl_int status) {
  if (status < CL_COMPLETE) status_.store(status);
  const bool is_last = unresolved_.fetch_sub(1) == 1;
  const cl_event event = event_.load();
  if (event == nullptr || (!is_last && status_.load() == CL_COMPLETE) || is_open_.exchange(true)) return;
  client::clSetUserEventStatus(event, status_.load());
}

}  // namespace cleave::remote::client::multi_server
