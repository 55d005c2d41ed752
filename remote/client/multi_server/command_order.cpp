#include "remote/client/multi_server/command_order.h"

#include <algorithm>

#include "remote/client/api/events.h"
#include "remote/client/multi_server/migration.h"

namespace cleave::remote::client::multi_server {

// Perhaps by a thread that reads, which may not send: so without the flush that a program's release brings.
CommandOrder::~CommandOrder() {
  for (const cl_command_queue queue : migration_queues_) {
    Object* const object = find(queue);
    if (object != nullptr && client.objects.release(*object) == objects::Objects::Remaining::none)
      client.objects.reap(*object);
  }
}

// Whether nothing before it, as far as `end`, is open.
bool CommandOrder::is_decidable(const OrderedCommand& entry, Deferred::const_iterator end) const {
  for (const HeldObject& wait : entry.waits) {
    const EventState& event = state_of<EventState>(*wait);
    if (event.queue == nullptr && !client::is_over(event)) return false;
  }
  const bool waits_for_all = entry.kind != OrderedCommand::Kind::command;
  const bool runs_in_turn = state_of<QueueState>(*entry.queue).runs_in_order;
  return std::none_of(deferred_.begin(), end, [&](const std::shared_ptr<OrderedCommand>& other) {
    if (other->operation->is_over()) return false;  // it has failed, or had nothing to be decided on
    if (&*other->queue == &*entry.queue &&
        (entry.in_order || runs_in_turn || waits_for_all || other->kind == OrderedCommand::Kind::barrier))
      return true;
    return std::any_of(entry.waits.begin(), entry.waits.end(),
                       [&](const HeldObject& wait) { return other->operation->is_bound_to(*wait); });
  });
}

// False: something is lost, and nothing was decided.
bool CommandOrder::decide(OrderedCommand& entry, Dependencies& dependencies) {
  for (const OrderedCommand::Used& one : entry.uses) {
    revert_failed_overwrites(*one.coherence);
    if (one.access != Access::overwrite && !is_available(*one.coherence, entry.shard)) return false;
  }
  for (const OrderedCommand::Used& one : entry.uses)
    record_use(one.coherence, entry.shard, one.access, entry.operation,
               entry.in_order ? &*entry.queue : nullptr, dependencies);
  return true;
}

CommandOrder::Decision CommandOrder::submit(const std::shared_ptr<OrderedCommand>& entry,
                                            Dependencies& dependencies) {
  const std::scoped_lock lock(mutex_);
  if (is_decidable(*entry, deferred_.end()))
    return decide(*entry, dependencies) ? Decision::decided : Decision::lost;
  if (!entry->uses.empty()) {
    entry->gate = std::make_shared<Gate>();
    entry->gate->hold();
    for (const OrderedCommand::Used& one : entry->uses) {
      for (const CoherenceState::Replica& copy : one.coherence->replicas)
        entry->replicas.emplace_back(copy.memory);
    }
  }
  deferred_.push_back(entry);
  return Decision::deferred;
}

void CommandOrder::withdraw(const std::shared_ptr<OrderedCommand>& entry) {
  {
    const std::scoped_lock lock(mutex_);
    deferred_.remove(entry);
  }
  entry->operation->cancel();  // which is all that those who look back have to know
}

std::vector<CommandOrder::Decided> CommandOrder::take_decidable() {
  std::vector<Decided> decided;
  const std::scoped_lock lock(mutex_);
  for (auto at = deferred_.begin(); at != deferred_.end();) {
    const bool is_over = (*at)->operation->is_over();
    if (!is_over && !is_decidable(**at, at)) {
      ++at;
      continue;
    }
    Decided one{*at, {}, false};
    if (!is_over) one.is_lost = !decide(*one.entry, one.dependencies);
    decided.push_back(std::move(one));
    at = deferred_.erase(at);
  }
  return decided;
}

void CommandOrder::decide_pending() {
  for (const Decided& one : take_decidable()) {
    begin_work(one.dependencies, one.entry->gate.get());
    if (one.entry->gate != nullptr) one.entry->gate->resolve_one(one.is_lost ? kConnectionLost : CL_COMPLETE);
  }
}

void begin_work(const Dependencies& dependencies, Gate* gate) {
  for (const auto& operation : dependencies.operations) {
    if (gate != nullptr) gate->wait_for(*operation);
  }
  for (const auto& move : dependencies.migrations) start(move);
}

cl_int wait_for_end(cl_event handle) {
  const EventState& event = state_of<EventState>(*find(handle));
  event.connection->wait([&] { return client::is_over(event); });
  return client::is_over(event) ? std::min(event.status.load(), CL_SUCCESS) : kConnectionLost;
}

}  // namespace cleave::remote::client::multi_server
