// The order in which commands of a context over several servers are decided: which contents are migrated for them, and which
// replicas are current after them (coherence.h).
//
// A command can be decided when all that it waits for has been decided: then everything that runs before it has been, since
// a command that is enqueued later can run earlier only because of a user event that is not set yet. So most commands are
// decided when they are enqueued. A command that waits for a user event, in its wait list or behind another such command, is
// deferred: it is sent to its server at once, with a gate in its wait list, and decided when the program has set the event.
//
// Markers and barriers are taken to wait for everything before them in their queue, even if they have a wait list, as some
// drivers do. A command behind one must not be decided before what the marker waits for, or each could come to wait for the
// other. For drivers that behave differently, a command that waits for a marker is decided when that has ended.
//
// A command behind a deferred one in its queue cannot run before it if the queue is in order, or if the driver runs
// out-of-order queues in order (out_of_order_probe.h). So it is deferred as well: otherwise a command that is decided later
// could be made to wait for one that cannot run before it.
//
// Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "remote/client/multi_server/coherence.h"

namespace cleave::remote::client::multi_server {

// What is known of a command to decide it.
struct OrderedCommand {
  enum class Kind : std::uint8_t { command, marker, barrier };
  struct Used {
    std::shared_ptr<CoherenceState> coherence;
    Access access;
  };

  explicit OrderedCommand(Object& the_queue) : queue(the_queue) {}

  HeldObject queue;
  bool in_order = true;
  std::size_t shard = 0;
  Kind kind = Kind::command;
  std::vector<HeldObject> waits;
  std::vector<Used> uses;
  std::shared_ptr<Operation> operation = std::make_shared<Operation>();
  // Of a deferred command with uses: its gate, and all replicas, which the program may have released when it is decided.
  std::shared_ptr<Gate> gate;
  std::vector<HeldMemory> replicas;
};

class CommandOrder : public CoherenceDomain {
 public:
  // Takes over the queues.
  using CoherenceDomain::CoherenceDomain;
  CommandOrder(const CommandOrder&) = delete;
  CommandOrder& operator=(const CommandOrder&) = delete;
  ~CommandOrder();

  // lost: contents that the command needs were lost with their server, and nothing was decided.
  enum class Decision : std::uint8_t { decided, deferred, lost };
  // Decides the command, or defers it and gives it a gate.
  Decision submit(const std::shared_ptr<OrderedCommand>& command, Dependencies& dependencies)
      CLEAVE_EXCLUDES(mutex_);

  // The command was not enqueued after all.
  void withdraw(const std::shared_ptr<OrderedCommand>& command) CLEAVE_EXCLUDES(mutex_);

  // The deferred commands that can be decided now, decided in the order in which they were enqueued. To be called when the
  // program has set a user event, a deferred command has failed, or a deferred marker or barrier has ended.
  struct Decided {
    std::shared_ptr<OrderedCommand> command;
    Dependencies dependencies;
    bool is_lost;
  };
  std::vector<Decided> take_decidable() CLEAVE_EXCLUDES(mutex_);
  // The same, and starts what was decided.
  void decide_pending() CLEAVE_EXCLUDES(mutex_);

 private:
  using Deferred = std::list<std::shared_ptr<OrderedCommand>>;

  // Whether no deferred command before `end` keeps it from being decided.
  [[nodiscard]] bool is_decidable(const OrderedCommand& command, Deferred::const_iterator end) const
      CLEAVE_REQUIRES(mutex_);
  bool decide(OrderedCommand& command, Dependencies& dependencies) CLEAVE_REQUIRES(mutex_);

  Deferred deferred_ CLEAVE_GUARDED_BY(mutex_);  // in the order in which they were enqueued
};

// Starts the migrations of a decided command. Its gate, if it has one, waits for its dependencies from here on.
void begin_work(const Dependencies& dependencies, Gate* gate);

}  // namespace cleave::remote::client::multi_server
