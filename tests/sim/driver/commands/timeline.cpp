#include "tests/sim/driver/commands/timeline.h"

#include <algorithm>

#include "tests/sim/driver/core/driver_state.h"

namespace cleave::sim {

void Timeline::add(const std::shared_ptr<Command>& command, Placement placement) {
  Queue& queue = *command->queue;
  command->serial = ++serial_;
  command->queued = now();
  if (command->launch) command->launch->queued = now();
  for (const auto& awaited : command->awaited_commands) block(command, awaited);
  if (!queue.out_of_order()) {
    if (!queue.commands.empty()) block(command, queue.commands.back());
  } else if (placement.waits_for_all) {
    for (const auto& earlier : queue.commands) block(command, earlier);
  } else if (queue.barrier) {
    block(command, queue.barrier);
  }
  queue.commands.push_back(command);
  if (placement.barrier) queue.barrier = command;
  if (!state_.options.lazy_flush) flush(queue);
}

void Timeline::block(const std::shared_ptr<Command>& command, const std::shared_ptr<Command>& blocker) {
  if (blocker->done()) return;
  ++command->blockers;
  blocker->dependents.push_back(command);
}

void Timeline::flush(Queue& queue) {
  const Nanoseconds delay = state_.options.submit_delay;
  // From the back: whatever lies before a flushed command was flushed with it.
  std::vector<std::shared_ptr<Command>> unflushed;
  for (auto it = queue.commands.rbegin(); it != queue.commands.rend() && !(*it)->flushed; ++it) {
    unflushed.push_back(*it);
  }
  for (auto it = unflushed.rbegin(); it != unflushed.rend(); ++it) {
    (*it)->flushed = true;
    if (delay > Nanoseconds::zero()) {
      agenda_.emplace(Key{now() + delay, (*it)->serial}, *it);
    } else {
      submit(*it);
    }
  }
  settle();
}

void Timeline::submit(const std::shared_ptr<Command>& command) {
  command->submitted = now();
  if (command->launch) command->launch->submitted = now();
  change(*command, CL_SUBMITTED);
  if (command->blockers == 0) make_ready(command);
}

void Timeline::make_ready(const std::shared_ptr<Command>& command) {
  command->ready = now();
  ready_[command->device].emplace(Key{now(), command->serial}, command);
}

void Timeline::unblock(const std::shared_ptr<Command>& command) {
  if (--command->blockers == 0 && command->status == CL_SUBMITTED) make_ready(command);
}

void Timeline::settle() {
  while (start_next()) {
  }
}

bool Timeline::has_capacity(Device* device) const {
  if (device == nullptr) return true;
  const auto found = running_.find(device);
  return found == running_.end() || found->second < state_.options.concurrent_commands;
}

// Starts the command that has been ready for longest among those that have room.
bool Timeline::start_next() {
  std::map<Key, std::shared_ptr<Command>>* longest = nullptr;
  for (auto& [device, waiting] : ready_) {
    if (waiting.empty() || !has_capacity(device)) continue;
    if (longest == nullptr || waiting.begin()->first < longest->begin()->first) longest = &waiting;
  }
  if (longest == nullptr) return false;
  const std::shared_ptr<Command> command = longest->begin()->second;
  longest->erase(longest->begin());
  start(command);
  return true;
}

void Timeline::start(const std::shared_ptr<Command>& command) {
  command->started = now();
  const bool failed = std::any_of(
      command->awaited_commands.begin(), command->awaited_commands.end(), [&](const auto& awaited) {
        const bool forgotten = state_.options.ignores_wait_list_failures &&
                               awaited->status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
        return awaited->status < 0 && !forgotten;
      });
  command->awaited_commands.clear();
  if (failed) {
    command->final_status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    command->device = nullptr;
    end(command);
    return;
  }
  if (command->launch) {
    command->launch->started = now();
    command->final_status = state_.starts(*command);
  }
  change(*command, CL_RUNNING);
  if (command->device == nullptr) {
    end(command);
    return;
  }
  ++running_[command->device];
  const Nanoseconds duration = command->duration ? command->duration() : Nanoseconds::zero();
  agenda_.emplace(Key{now() + std::max(duration, Nanoseconds::zero()), command->serial}, command);
}

void Timeline::end(const std::shared_ptr<Command>& command) {
  if (command->device != nullptr) --running_[command->device];
  command->ended = now();
  if (command->final_status == CL_COMPLETE && command->effect) command->effect();
  command->effect = nullptr;
  command->duration = nullptr;
  if (command->launch) command->launch->ended = now();
  change(*command, command->final_status);
  for (const auto& dependent : std::exchange(command->dependents, {})) unblock(dependent);
  if (Queue* queue = command->queue.get()) {
    const auto found = std::find(queue->commands.begin(), queue->commands.end(), command);
    if (found != queue->commands.end()) queue->commands.erase(found);
    if (queue->barrier == command) queue->barrier = nullptr;
  }
  command->event = nullptr;
  command->queue = nullptr;
}

void Timeline::change(Command& command, cl_int status) {
  command.status = status;
  if (command.launch) command.launch->status = status;
  if (!command.event) return;
  auto& callbacks = command.event->callbacks;
  for (auto it = callbacks.begin(); it != callbacks.end();) {
    if (status > it->status) {
      ++it;
      continue;
    }
    state_.queue_callback([event = command.event, callback = *it, status] {
      callback.function(handle_of(event), status < 0 ? status : callback.status, callback.user_data);
    });
    it = callbacks.erase(it);
  }
}

void Timeline::end_now(const std::shared_ptr<Command>& command, cl_int status) {
  command->final_status = status;
  end(command);
  settle();
}

bool Timeline::step(Nanoseconds limit) {
  if (agenda_.empty() || agenda_.begin()->first.first > limit) return false;
  const auto [key, command] = *agenda_.begin();
  agenda_.erase(agenda_.begin());
  jump(key.first);
  if (command->status == CL_QUEUED) {
    submit(command);
  } else {
    end(command);
  }
  settle();
  return true;
}

void Timeline::jump(Nanoseconds time) {
  if (time > now()) now_.store(time.count(), std::memory_order_release);
}

void Timeline::clear() {
  agenda_.clear();
  ready_.clear();
  running_.clear();
}

}  // namespace cleave::sim
