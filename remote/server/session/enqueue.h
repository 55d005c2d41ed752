// The part of the session that enqueues: templates that its files share.
#pragma once

#include <algorithm>
#include <utility>

#include "remote/server/session/session.h"

namespace cleave::remote::server {

// `call(queue, number of waits, waits, event)` is the driver's function with its own parameters bound.
template <typename Call>
void ClientSession::enqueue(const wire::Command& command, Call call, Pending pending) {
  const auto to = begin_enqueue(command);
  if (!to) return;
  cl_event event = nullptr;
  const cl_int error = call(to->queue->handle(), to->count(), to->list(), &event);
  if (error != CL_SUCCESS) return fail_command(command, error);
  finish_enqueue(command, *to, event, std::move(pending));
}

}  // namespace cleave::remote::server
