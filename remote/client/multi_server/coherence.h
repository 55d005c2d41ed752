// Which servers have the newest contents of a memory object. Each server has a replica; some replicas are current.
//
// The unit is the whole object; sub-buffers and images on a buffer share the buffer's state. Before a command uses an object
// on a server whose replica is not current, the contents are migrated there (migration.h). Which replicas are current is
// decided command by command, in an order that is compatible with OpenCL's (command_order.h) and in which none of the
// commands need have run: an Operation represents what has been decided, and later commands wait for the operations that
// they depend on.
//
// A command may fail or never be sent. If it was to modify contents, its server has the previous contents, which were
// migrated there if need be. If it was to replace all contents (PendingOverwrite), nothing was migrated. Then the
// replicas that were current before are current again, unless later commands have modified what was never written.
// Until such a command has ended, its server's replica is not passed on to other servers.
//
// Not thread-safe: guarded by the mutex of the CoherenceDomain, which the functions require.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "remote/client/multi_server/held_object.h"
#include "remote/client/multi_server/memory_access.h"
#include "remote/client/multi_server/operation.h"

namespace cleave::remote::client::multi_server {

struct Migration;

// What the objects of one context share: its servers, and the lock. Only Operation's mutexes and event states' are taken while
// that is held, and nothing is sent.
class CoherenceDomain {
 public:
  using IsAlive = std::function<bool(std::size_t shard)>;

  // The queues are owned by the derived class.
  CoherenceDomain(std::vector<cl_command_queue> migration_queues, IsAlive is_alive)
      : migration_queues_(std::move(migration_queues)), is_alive_(std::move(is_alive)) {}

  base::Mutex& mutex() CLEAVE_RETURN_CAPABILITY(mutex_) { return mutex_; }
  // The queue for migrations from and to a shard. Null: its server was lost before there was one.
  [[nodiscard]] cl_command_queue migration_queue(std::size_t shard) const { return migration_queues_[shard]; }
  [[nodiscard]] bool is_alive(std::size_t shard) const { return is_alive_(shard); }

 protected:
  base::Mutex mutex_;
  const std::vector<cl_command_queue> migration_queues_;

 private:
  const IsAlive is_alive_;
};

struct CoherenceState {
  struct Use {
    std::shared_ptr<Operation> operation;
    const Object* queue;  // null: an out-of-order queue
    bool writes;
    bool follows_all = true;  // all earlier uses on its queue had been sent when it was ordered
  };
  struct Replica {
    cl_mem memory = nullptr;  // the shard; null: its server was lost
    bool is_current = true;
    std::shared_ptr<Operation> arrival;  // the newest migration to here
    std::vector<Use> uses;               // those that may not be over
    std::size_t prune_threshold = 16;
  };
  // A command that replaces all contents and is not known to have succeeded.
  struct PendingOverwrite {
    struct Before {
      bool was_current;
      std::shared_ptr<Operation> arrival;
    };
    std::shared_ptr<Operation> operation;
    std::size_t shard;
    std::vector<Before> before;                     // of each replica
    std::vector<std::shared_ptr<Operation>> since;  // operations that modify the new contents
  };
  std::vector<Replica> replicas;
  std::shared_ptr<CoherenceDomain> domain;
  std::vector<PendingOverwrite> pending_overwrites;  // since the newest that is known to have succeeded
};

// A transfer of contents from one server to another.
struct Migration {
  Migration(std::shared_ptr<CoherenceState> the_coherence, std::size_t from_shard, std::size_t to_shard);
  Migration(const Migration&) = delete;
  Migration& operator=(const Migration&) = delete;
  ~Migration() = default;

  std::shared_ptr<CoherenceState> coherence;
  std::size_t from;
  std::size_t to;
  std::vector<std::shared_ptr<Operation>> dependencies;
  // The operations from which the source has its contents. If one has failed there is nothing to migrate.
  std::vector<std::shared_ptr<Operation>> suppliers;
  std::shared_ptr<Operation> done = std::make_shared<Operation>();
  HeldMemory source;  // kept if the program releases its object meanwhile
  HeldMemory target;
};

// What a command has to wait for besides its wait list, and the migrations that have to be started for it.
struct Dependencies {
  std::vector<std::shared_ptr<Operation>> operations;
  std::vector<std::shared_ptr<Migration>> migrations;
};

// Restores what failed commands were to overwrite. To be called before all of the following.
void revert_failed_overwrites(CoherenceState& coherence);

// Whether the contents can be had on a server: it has them, or they can be migrated there.
bool is_available(const CoherenceState& coherence, std::size_t shard);

// Records the use of an object on a shard's server by an operation. `queue`: that of the command if it is in order, else
// null. Requires: is_available(), or an overwriting access.
void record_use(const std::shared_ptr<CoherenceState>& coherence, std::size_t shard, Access access,
                const std::shared_ptr<Operation>& operation, const Object* queue, Dependencies& dependencies);

// A migration to that shard has failed: its replica is not current. Takes the lock.
void invalidate_replica(CoherenceState& coherence, std::size_t shard,
                        const std::shared_ptr<Operation>& arrival);

}  // namespace cleave::remote::client::multi_server
