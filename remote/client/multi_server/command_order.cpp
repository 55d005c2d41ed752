#include "remote/client/multi_server/command_order.h"

#include <algorithm>

#include "remote/client/link/connection.h"
#include "remote/client/multi_server/migration.h"
#include "remote/client/objects/event_status.h"

namespace cleave::remote::client::multi_server {

// May run on a connection's reader, which must not send: so not by clReleaseCommandQueue, which flushes.
CommandOrder::~CommandOrder() {
  for (const cl_command_queue queue : migration_queues_) {
    Object* const object = find(queue);
    if (object != nullptr && client.objects.release(*object) == objects::Objects::Remaining::none)
      client.objects.reap(*object);
  }
}

bool CommandOrder::is_decidable(const OrderedCommand& command, Deferred::const_iterator end) const {
  for (const HeldObject& wait : command.waits) {
    const EventState& event = state_of<EventState>(*wait);
    if (event.queue == nullptr && !client::is_over(event)) return false;
  }
  const bool waits_for_all = command.kind != OrderedCommand::Kind::command;
  const bool runs_in_order = state_of<QueueState>(*command.queue).runs_in_order;
  return std::none_of(deferred_.begin(), end, [&](const std::shared_ptr<OrderedCommand>& other) {
    if (other->operation->is_over()) return false;  // it has failed, or had no uses
    if (&*other->queue == &*command.queue &&
        (command.in_order || runs_in_order || waits_for_all || other->kind == OrderedCommand::Kind::barrier))
      return true;
    return std::any_of(command.waits.begin(), command.waits.end(),
                       [&](const HeldObject& wait) { return other->operation->is_bound_to(*wait); });
  });
}

// False: contents are lost, and nothing was decided.
bool CommandOrder::decide(OrderedCommand& command, Dependencies& dependencies) {
  for (const OrderedCommand::Used& one : command.uses) {
    revert_failed_overwrites(*one.coherence);
    if (one.access != Access::overwrite && !is_available(*one.coherence, command.shard)) return false;
  }
  for (const OrderedCommand::Used& one : command.uses) {
    record_use(one.coherence, command.shard, one.access, command.operation,
               command.in_order ? &*command.queue : nullptr, dependencies);
  }
  return true;
}

CommandOrder::Decision CommandOrder::submit(const std::shared_ptr<OrderedCommand>& command,
                                            Dependencies& dependencies) {
  const base::MutexLock lock(mutex_);
  if (is_decidable(*command, deferred_.end()))
    return decide(*command, dependencies) ? Decision::decided : Decision::lost;
  if (!command->uses.empty()) {
    command->gate = std::make_shared<Gate>();
    command->gate->hold();
    for (const OrderedCommand::Used& one : command->uses) {
      for (const CoherenceState::Replica& replica : one.coherence->replicas)
        command->replicas.emplace_back(replica.memory);
    }
  }
  deferred_.push_back(command);
  return Decision::deferred;
}

void CommandOrder::withdraw(const std::shared_ptr<OrderedCommand>& command) {
  {
    const base::MutexLock lock(mutex_);
    deferred_.remove(command);
  }
  command->operation->cancel();  // coherence states see that its uses had no effect
}

std::vector<CommandOrder::Decided> CommandOrder::take_decidable() {
  std::vector<Decided> decided;
  const base::MutexLock lock(mutex_);
  for (auto at = deferred_.begin(); at != deferred_.end();) {
    const bool is_over = (*at)->operation->is_over();
    if (!is_over && !is_decidable(**at, at)) {
      ++at;
      continue;
    }
    Decided one{*at, {}, false};
    if (!is_over) one.is_lost = !decide(*one.command, one.dependencies);
    decided.push_back(std::move(one));
    at = deferred_.erase(at);
  }
  return decided;
}

void CommandOrder::decide_pending() {
  for (const Decided& one : take_decidable()) {
    begin_work(one.dependencies, one.command->gate.get());
    if (one.command->gate != nullptr)
      one.command->gate->resolve_one(one.is_lost ? kConnectionLost : CL_COMPLETE);
  }
}

void begin_work(const Dependencies& dependencies, Gate* gate) {
  for (const auto& operation : dependencies.operations) {
    if (gate != nullptr) gate->wait_for(*operation);
  }
  for (const auto& migration : dependencies.migrations) start(migration);
}

}  // namespace cleave::remote::client::multi_server
