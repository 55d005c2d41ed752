// Where the contents of a memory object are: each server has a copy, and some of them are the newest.
//
// The unit is the whole object; a buffer's parts and the images on it are the buffer. A command that uses an
// object on a server whose copy is not among the newest has it moved there first (moves.h). Which are the
// newest is decided command by command, in an order that OpenCL's own order of them is contained in
// (ordering.h), and in which none of them need have run: a step stands for what has been decided, and what
// follows waits for the steps that it needs.
//
// A command may come to nothing. Where it was to change contents, they are on its server as they were before,
// brought there if need be. Where it was to give new ones (Overwriting), nothing was brought: then those from
// before count again, unless others have built on what never was. Until such a command has ended its server's
// copy is not given to others.
//
// Not thread-safe: under the ordering's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "remote/client/multi_server/composite.h"
#include "remote/client/multi_server/memory_access.h"
#include "remote/client/multi_server/operation.h"

namespace cleave::remote::client::multi_server {

struct Migration;

struct CoherenceState {
  struct Use {
    std::shared_ptr<Operation> operation;
    const Object* queue;  // null: it is out of order
    bool writes;
    bool follows_all = true;  // when it was decided on, all before it on its queue had been sent
  };
  struct Replica {
    cl_mem memory = nullptr;  // the part; null: the server had gone
    bool is_current = true;
    std::shared_ptr<Operation> arrival;  // the newest move to here
    std::vector<Use> uses;               // those that may not be over
    std::size_t prune_threshold = 16;
  };
  // New contents altogether, by a command on one part that is not known to have ended well.
  struct PendingOverwrite {
    struct Before {
      bool was_current;
      std::shared_ptr<Operation> arrival;
    };
    std::shared_ptr<Operation> operation;
    std::size_t shard;
    std::vector<Before> before;                     // of each copy
    std::vector<std::shared_ptr<Operation>> since;  // what changes these contents
  };
  std::vector<Replica> replicas;
  std::shared_ptr<CommandOrder> order;
  std::vector<PendingOverwrite> pending_overwrites;  // since the newest that is known to have ended well
};

// What a command has to wait for besides its wait list, and what has to be begun for it.
struct Dependencies {
  std::vector<std::shared_ptr<Operation>> operations;
  std::vector<std::shared_ptr<Migration>> migrations;
};

// Takes back what commands that have come to nothing were to overwrite. Before all that follows.
void revert_failed_overwrites(CoherenceState& coherence);

// Whether the contents are in reach: on that server, or on one that they can be moved from.
bool is_available(const CoherenceState& coherence, std::size_t shard);

// Decides on the use of an object on a part's server by a command of which `operation` is known. `queue`: that of
// the command, if it keeps the order. Requires: is_available(), or an overwriting access.
void record_use(const std::shared_ptr<CoherenceState>& coherence, std::size_t shard, Access access,
                const std::shared_ptr<Operation>& operation, const Object* queue, Dependencies& dependencies);

// A move to that part has failed: what is there is not the newest. Takes the lock.
void invalidate_replica(CoherenceState& coherence, std::size_t shard,
                        const std::shared_ptr<Operation>& arrival);

}  // namespace cleave::remote::client::multi_server
