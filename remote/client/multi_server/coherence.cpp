#include "remote/client/multi_server/coherence.h"

#include <algorithm>
#include <optional>

namespace cleave::remote::client::multi_server {
namespace {

using Replica = CoherenceState::Replica;
using Use = CoherenceState::Use;

bool can_supply(const CoherenceState& coherence, std::size_t shard) {
  const Replica& replica = coherence.replicas[shard];
  return replica.is_current && replica.memory != nullptr && coherence.domain->is_alive(shard);
}

// The shard from which to migrate: one that has the contents already, if possible. If none can supply them since its server
// was lost just now, one whose migration will fail.
std::size_t migration_source(const CoherenceState& coherence) {
  std::size_t lost = 0;
  std::size_t found = coherence.replicas.size();
  for (std::size_t shard = 0; shard < coherence.replicas.size(); ++shard) {
    const Replica& replica = coherence.replicas[shard];
    if (replica.is_current) lost = shard;
    if (!can_supply(coherence, shard)) continue;
    if (replica.arrival == nullptr || replica.arrival->is_over()) return shard;
    found = shard;
  }
  return found != coherence.replicas.size() ? found : lost;
}

// Of the uses on an in-order queue, the newest that was sent after the others, and has an event, represents them: a server
// reports the ends of such a queue's commands in order, even if one has failed early.
void merge_uses(Replica& replica, Use& use) {
  Use* last = nullptr;
  for (Use& one : replica.uses) {
    if (one.queue != use.queue) continue;
    use.follows_all = use.follows_all && one.operation->is_sent();
    if (one.follows_all && one.operation->has_event()) last = &one;
  }
  if (last == nullptr) return;
  const Operation* const kept = last->operation.get();
  for (const Use* one = replica.uses.data(); one != last; ++one)
    last->writes = last->writes || (one->queue == use.queue && one->writes);
  bool is_before = true;
  std::erase_if(replica.uses, [&](const Use& one) {
    is_before = is_before && one.operation.get() != kept;
    return is_before && one.queue == use.queue;
  });
}

void add_use(Replica& replica, Use use) {
  if (use.queue != nullptr) merge_uses(replica, use);
  if (replica.uses.size() >= replica.prune_threshold) {
    std::erase_if(replica.uses, [](const Use& one) { return one.operation->is_over(); });
    replica.prune_threshold = std::max<std::size_t>(16, 2 * replica.uses.size());
  }
  replica.uses.push_back(std::move(use));
}

void add_dependency(std::vector<std::shared_ptr<Operation>>& operations,
                    const std::shared_ptr<Operation>& operation) {
  if (operation != nullptr && !operation->is_over()) operations.push_back(operation);
}

// The source is read when it is no longer written, and the target is written when its old contents are no longer used.
std::shared_ptr<Migration> migrate_to(const std::shared_ptr<CoherenceState>& coherence, std::size_t shard) {
  const std::size_t source = migration_source(*coherence);
  Replica& from = coherence->replicas[source];
  Replica& to = coherence->replicas[shard];
  auto migration = std::make_shared<Migration>(coherence, source, shard);
  for (const Use& one : from.uses) {
    if (one.writes) add_dependency(migration->dependencies, one.operation);
  }
  for (const Use& one : to.uses) add_dependency(migration->dependencies, one.operation);
  add_dependency(migration->dependencies, from.arrival);
  add_dependency(migration->dependencies, to.arrival);
  if (from.arrival != nullptr) migration->suppliers.push_back(from.arrival);
  if (!coherence->pending_overwrites.empty() && coherence->pending_overwrites.back().shard == source)
    migration->suppliers.push_back(coherence->pending_overwrites.back().operation);
  add_use(from, {migration->done, nullptr, false});
  to.is_current = true;
  to.arrival = migration->done;
  return migration;
}

// Whether the overwriting command has failed and everything that modified its contents is over. None: something of that is
// still running.
std::optional<bool> has_no_effect(const CoherenceState::PendingOverwrite& one) {
  if (!one.operation->is_over()) return {};
  if (!one.operation->has_failed()) return false;
  if (!std::all_of(one.since.begin(), one.since.end(),
                   [](const auto& operation) { return operation->is_over(); }))
    return {};
  return true;
}

// The replicas that are current again after a failed overwrite: none if a later command modified the contents.
std::vector<CoherenceState::PendingOverwrite::Before> before(const CoherenceState::PendingOverwrite& failed) {
  const bool is_modified = !std::all_of(failed.since.begin(), failed.since.end(),
                                        [](const auto& operation) { return operation->has_failed(); });
  auto all = failed.before;
  for (auto& one : all) one.was_current = one.was_current && !is_modified;
  return all;
}

// Removes overwrites that are known to have ended, except the last.
void prune_overwrites(std::vector<CoherenceState::PendingOverwrite>& all) {
  auto first = all.begin();
  for (; std::next(first) != all.end(); ++first) {
    const auto is_first_void = has_no_effect(*first);
    if (!is_first_void) break;
    if (*is_first_void) std::next(first)->before = before(*first);
  }
  all.erase(all.begin(), first);
}

// Records which replicas are current before a command overwrites them. Not needed if they are already the only current one:
// if the command fails then, the contents are as they were.
void add_overwrite(CoherenceState& coherence, std::size_t shard,
                   const std::shared_ptr<Operation>& operation) {
  CoherenceState::PendingOverwrite one{operation, shard, {}, {}};
  bool is_only_newest = true;
  for (std::size_t i = 0; i < coherence.replicas.size(); ++i) {
    const Replica& replica = coherence.replicas[i];
    is_only_newest = is_only_newest && replica.is_current == (i == shard);
    one.before.push_back({replica.is_current, replica.arrival});
  }
  if (coherence.pending_overwrites.empty() && is_only_newest) return;
  coherence.pending_overwrites.push_back(std::move(one));
  prune_overwrites(coherence.pending_overwrites);
}

}  // namespace

Migration::Migration(std::shared_ptr<CoherenceState> the_coherence, std::size_t from_shard,
                     std::size_t to_shard)
    : coherence(std::move(the_coherence)),
      from(from_shard),
      to(to_shard),
      source(coherence->replicas[from_shard].memory),
      target(coherence->replicas[to_shard].memory) {}

void revert_failed_overwrites(CoherenceState& coherence) {
  auto& all = coherence.pending_overwrites;
  while (!all.empty()) {
    const auto is_last_void = has_no_effect(all.back());
    if (!is_last_void) return;
    if (!*is_last_void) return all.clear();
    const auto earlier = before(all.back());
    all.pop_back();
    for (std::size_t shard = 0; shard < coherence.replicas.size(); ++shard) {
      coherence.replicas[shard].is_current = earlier[shard].was_current;
      coherence.replicas[shard].arrival =
          earlier[shard].arrival;  // later migrations fail as well (suppliers)
    }
  }
}

bool is_available(const CoherenceState& coherence, std::size_t shard) {
  return can_supply(coherence, shard) || can_supply(coherence, migration_source(coherence));
}

void record_use(const std::shared_ptr<CoherenceState>& coherence, std::size_t shard, Access access,
                const std::shared_ptr<Operation>& operation, const Object* queue,
                Dependencies& dependencies) {
  Replica& here = coherence->replicas[shard];
  if (access != Access::overwrite && !here.is_current)
    dependencies.migrations.push_back(migrate_to(coherence, shard));
  add_dependency(dependencies.operations, here.arrival);
  if (access == Access::overwrite) {
    add_overwrite(*coherence, shard, operation);
    if (here.arrival != nullptr && here.arrival->is_over()) here.arrival.reset();
  } else if (access == Access::write && !coherence->pending_overwrites.empty()) {
    coherence->pending_overwrites.back().since.push_back(operation);
  }
  if (access != Access::read) {
    for (Replica& replica : coherence->replicas) replica.is_current = false;
    here.is_current = true;
  }
  add_use(here, {operation, queue, access != Access::read});
}

void invalidate_replica(CoherenceState& coherence, std::size_t shard,
                        const std::shared_ptr<Operation>& arrival) {
  const base::MutexLock lock(coherence.domain->mutex());
  if (coherence.replicas[shard].arrival == arrival) coherence.replicas[shard].is_current = false;
}

}  // namespace cleave::remote::client::multi_server
