#include "remote/client/spread/step.h"

#include <algorithm>
#include <utility>

#include "remote/client/api.h"
#include "remote/client/events.h"
#include "remote/client/state.h"

namespace cleave::remote::client::spread {
namespace {

void CL_CALLBACK call_waiter(cl_event, cl_int status, void* data) {
  const std::unique_ptr<Waiter> waiter(static_cast<Waiter*>(data));
  (*waiter)(std::min(status, CL_COMPLETE));
}

}  // namespace

void when_over(Object& event, Waiter waiter) { tell_end(event, &call_waiter, new Waiter(std::move(waiter))); }

Step::~Step() {
  if (event_ != nullptr) client.objects.drop(*event_);
}

void Step::follow(Object& event) {
  client.objects.hold(event);
  bool watched = false;
  {
    const std::scoped_lock lock(mutex_);
    event_ = &event;
    watched = watched_ = !waiters_.empty();
  }
  if (watched) watch();
}

void Step::end(cl_int status) {
  std::vector<Waiter> waiters;
  {
    const std::scoped_lock lock(mutex_);
    if (ended_) return;
    ended_ = true;
    status_ = status;
    waiters.swap(waiters_);
  }
  for (const Waiter& waiter : waiters) waiter(status);
}

void Step::cancel() {
  {
    const std::scoped_lock lock(mutex_);
    cancelled_ = true;
  }
  end(CL_COMPLETE);
}

bool Step::has_ended() const {
  return ended_ || (event_ != nullptr && client::is_over(body_of<EventBody>(*event_)));
}

cl_int Step::status() const {
  return ended_ || event_ == nullptr ? status_
                                     : std::min(body_of<EventBody>(*event_).status.load(), CL_COMPLETE);
}

bool Step::is_over() {
  const std::scoped_lock lock(mutex_);
  return has_ended();
}

bool Step::came_to_nothing() {
  const std::scoped_lock lock(mutex_);
  return cancelled_ || (has_ended() && status() < CL_COMPLETE);
}

bool Step::is_sent() {
  const std::scoped_lock lock(mutex_);
  return ended_ || event_ != nullptr;
}

bool Step::has_event() {
  const std::scoped_lock lock(mutex_);
  return event_ != nullptr;
}

bool Step::follows(const Object& event) {
  const std::scoped_lock lock(mutex_);
  return event_ == &event;
}

void Step::when_over(Waiter waiter) {
  std::unique_lock lock(mutex_);
  if (has_ended()) {
    const cl_int now = status();
    lock.unlock();
    waiter(now);
    return;
  }
  waiters_.push_back(std::move(waiter));
  const bool is_first = event_ != nullptr && !std::exchange(watched_, true);
  lock.unlock();
  if (is_first) watch();
}

void Step::watch() {
  spread::when_over(*event_, [self = shared_from_this()](cl_int status) { self->end(status); });
}

Gate::~Gate() {
  if (const cl_event event = event_.load()) client::clReleaseEvent(event);
}

cl_event Gate::make(Object& part, cl_int& error) {
  event_.store(make_user_event(part, SetBy::us, &error));
  return event_.load();
}

void Gate::wait_for(Step& step) {
  hold();
  step.when_over([self = shared_from_this()](cl_int status) { self->pass(status); });
}

void Gate::wait_for(Object& event) {
  hold();
  spread::when_over(event, [self = shared_from_this()](cl_int status) { self->pass(status); });
}

void Gate::pass(cl_int status) {
  if (status < CL_COMPLETE) status_.store(status);
  const bool is_last = left_.fetch_sub(1) == 1;
  const cl_event event = event_.load();
  if (event == nullptr || (!is_last && status_.load() == CL_COMPLETE) || is_open_.exchange(true)) return;
  client::clSetUserEventStatus(event, status_.load());
}

}  // namespace cleave::remote::client::spread
