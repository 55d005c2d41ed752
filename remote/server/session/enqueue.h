// Commands on a queue: what their handlers have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "remote/server/session/session_context.h"

namespace cleave::remote::server {

// The queue and the wait list of one command.
struct Enqueue {
  std::shared_ptr<Queue> queue;
  std::vector<cl_event> waits;
  std::uint64_t overhead = 0;   // of host memory, which the command keeps until it ends
  bool has_empty_list = false;  // the program passed a wait list without events, which some drivers refuse
  [[nodiscard]] cl_uint count() const { return static_cast<cl_uint>(waits.size()); }
  [[nodiscard]] const cl_event* list() const {
    static constexpr cl_event kNone = nullptr;
    return !waits.empty() ? waits.data() : has_empty_list ? &kNone : nullptr;
  }
};

// Looks up the command's queue and wait list. Empty: one of them is invalid, or there is no host memory for what the command keeps
// until it ends, `overhead` besides what all do; the command has failed.
std::optional<Enqueue> begin_enqueue(SessionContext& session, const wire::Command& command,
                                     std::uint64_t overhead = 0);

// Whether the driver need not make an event for this command: its end is seen with that of the next one.
bool needs_no_event(const SessionContext& session, const wire::Command& command, const Queue& queue);

// Ends a command that the driver has not accepted. `bytes` of its payload are counted elsewhere.
void fail_command(SessionContext& session, const wire::Command& command, cl_int error,
                  std::uint64_t bytes = 0);

// Registers and answers a command that the driver has accepted, and takes `event` over.
void finish_enqueue(SessionContext& session, const wire::Command& command, const Enqueue& to, cl_event event,
                    Pending pending = {});

// The same for a command that was enqueued without an event.
void finish_enqueue_without_event(SessionContext& session, const Enqueue& to);

// The same for one slice of a command: if `pending.more`, other slices follow, and the command ends with the last of them.
// `first` keeps the first slice's event between calls; it is empty before the first.
void finish_enqueue_slice(SessionContext& session, const wire::Command& command, const Enqueue& to,
                          cl_event event, Pending pending, EventReference& first);

// Enqueues with `call(queue, number of waits, waits, event)`, the driver's function with its own parameters bound. Calls
// that only pass the last three on take them as `auto... wait`.
template <typename Call>
void enqueue(SessionContext& session, const wire::Command& command, Call call, Pending pending = {}) {
  const auto to = begin_enqueue(session, command, pending.overhead);
  if (!to) return;
  const bool has_event = !needs_no_event(session, command, *to->queue);
  cl_event event = nullptr;
  const cl_int error = call(to->queue->handle(), to->count(), to->list(), has_event ? &event : nullptr);
  if (error != CL_SUCCESS) return fail_command(session, command, error);
  if (!has_event) return finish_enqueue_without_event(session, *to);
  finish_enqueue(session, command, *to, event, std::move(pending));
}

}  // namespace cleave::remote::server
