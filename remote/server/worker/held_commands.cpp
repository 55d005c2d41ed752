#include "remote/server/worker/held_commands.h"

#include <algorithm>
#include <utility>

namespace cleave::remote::server {

struct HeldCommands::Gate {
  bool open = false;  // guarded by the owner's mutex
};

// Open gates are dropped on the way, so the lists stay as short as what is really held.
void HeldCommands::merge(Gates& into, const Gates& from) {
  std::erase_if(into, [](const auto& gate) { return gate->open; });
  for (const std::shared_ptr<Gate>& gate : from) {
    if (!gate->open && std::find(into.begin(), into.end(), gate) == into.end()) into.push_back(gate);
  }
}

HeldCommands::Dependencies HeldCommands::dependencies_of(Events events) const {
  Dependencies on;
  for (const cl_event event : events) {
    const auto known = events_.find(event);
    if (known == events_.end()) continue;
    merge(on.own, known->second.own);
    merge(on.all, known->second.all);
  }
  return on;
}

void HeldCommands::add_queue(cl_command_queue queue, bool in_order) {
  const base::MutexLock lock(mutex_);
  queues_[queue] = {in_order, {}};
}

void HeldCommands::add_user_event(cl_event event) {
  const auto gate = std::make_shared<Gate>();
  const base::MutexLock lock(mutex_);
  user_events_[event] = gate;
  events_[event] = {{gate}, {gate}};
}

void HeldCommands::add_command(cl_command_queue queue, Events waits, cl_event event) {
  const base::MutexLock lock(mutex_);
  Dependencies own = dependencies_of(waits);
  QueueState& state = queues_[queue];
  merge(state.on.own, own.own);
  merge(state.on.all, own.all);
  if (event == nullptr) return;
  user_events_.erase(event);
  events_[event] = {state.in_order ? state.on.own : std::move(own.own), state.on.all};
}

void HeldCommands::open(cl_event user_event) {
  {
    const base::MutexLock lock(mutex_);
    const auto found = user_events_.find(user_event);
    if (found == user_events_.end()) return;
    found->second->open = true;
  }
  opened_.notify_all();
}

void HeldCommands::remove(cl_event event) {
  const base::MutexLock lock(mutex_);
  user_events_.erase(event);
  events_.erase(event);
}

void HeldCommands::remove(cl_command_queue queue) {
  const base::MutexLock lock(mutex_);
  queues_.erase(queue);
}

HeldCommands::Gates HeldCommands::before_events(Events events) {
  const base::MutexLock lock(mutex_);
  return dependencies_of(events).own;
}

HeldCommands::Gates HeldCommands::before_queue(cl_command_queue queue, Events waits) {
  const base::MutexLock lock(mutex_);
  Gates gates = dependencies_of(waits).all;
  const auto known = queues_.find(queue);
  if (known != queues_.end()) merge(gates, known->second.on.all);
  return gates;
}

void HeldCommands::wait_until_open(const Gates& gates) {
  base::MutexLock lock(mutex_);
  const auto is_open = [](const auto& gate) { return gate->open; };
  while (!std::all_of(gates.begin(), gates.end(), is_open)) opened_.wait(lock);
}

}  // namespace cleave::remote::server
