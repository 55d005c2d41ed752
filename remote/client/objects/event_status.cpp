#include "remote/client/objects/event_status.h"

#include <algorithm>

#include "remote/client/objects/client.h"

namespace cleave::remote::client {
namespace {

// A callback gets the status that it was registered for, or the error.
void post_callback(Object& event, const EventState::Callback& callback, cl_int status) {
  client.objects.hold(event);
  (callback.internal ? client.internal_callbacks : client.callbacks).post([&event, callback, status] {
    callback.function(objects::handle_of<cl_event>(&event), status < 0 ? status : callback.status,
                      callback.user_data);
    client.objects.drop(event);
  });
}

}  // namespace

unsigned set_status(Object& event, cl_int status) {
  EventState& state = state_of<EventState>(event);
  std::vector<EventState::Callback> due;
  {
    const base::MutexLock lock(state.mutex);
    if (state.status.load(std::memory_order_relaxed) <= status && !(status < 0 && !is_over(state))) return 0;
    state.status.store(status, std::memory_order_release);
    const auto first_due =
        std::stable_partition(state.callbacks.begin(), state.callbacks.end(),
                              [&](const EventState::Callback& one) { return one.status < status; });
    due.assign(first_due, state.callbacks.end());
    state.callbacks.erase(first_due, state.callbacks.end());
  }
  for (const EventState::Callback& one : due) post_callback(event, one, status);
  return static_cast<unsigned>(due.size());
}

bool add_callback(Object& event, const EventState::Callback& callback) {
  EventState& state = state_of<EventState>(event);
  cl_int now = CL_QUEUED;
  {
    const base::MutexLock lock(state.mutex);
    now = state.status.load(std::memory_order_relaxed);
    if (now > callback.status) {
      state.callbacks.push_back(callback);
      return true;
    }
  }
  post_callback(event, callback, now);
  return false;
}

}  // namespace cleave::remote::client
