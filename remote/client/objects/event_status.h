// The status of events as the client knows it, and the callbacks that become due with it.
//
// Thread-safe.
#pragma once

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client {

// Whether the event has its final status.
inline bool is_over(const EventState& event) {
  return event.status.load(std::memory_order_acquire) <= CL_COMPLETE;
}

// Sets a status unless the event has a later one, and posts the callbacks that are due. Returns how many these are.
[[nodiscard]] unsigned set_status(Object& event, cl_int status);

// Adds the callback, or posts it if it is due already. Returns whether it was added.
bool add_callback(Object& event, const EventState::Callback& callback);

}  // namespace cleave::remote::client
