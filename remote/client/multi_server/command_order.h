// In which order commands are decided on: what is moved for them, and where the newest contents are then.
//
// A command is settled when all that it waits for has been decided on: then whatever is to run before it has
// been, since what is enqueued later can come before it only by way of a user event that is not set yet. So
// most commands are settled as they are enqueued. One that waits for a user event, in its wait list or behind
// another such command, is open: it goes to its server at once, with a gate in its wait list, and is decided
// on when the program has set the event.
//
// Markers and barriers are taken to wait for all before them on their queue, also where they have a wait
// list: some drivers do. What is enqueued behind one must not be decided on before what that waits for, or
// each would wait for the other. Where a driver does not, what waits for one is decided on when it has ended.
//
// What is behind an open command on its queue does not run before that where a queue is in order, or the
// driver lets nothing overtake (overtaking.h): so that is open, too, or what is decided on later may be made
// to wait for what cannot run before it.
//
// Thread-safe. The lock is held for moments only, never while something is sent.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "remote/client/multi_server/coherence.h"

namespace cleave::remote::client::multi_server {

// An object that stays until this ends.
class HeldObject {
 public:
  explicit HeldObject(Object& object) : object_(&object) { client.objects.hold(object); }
  HeldObject(HeldObject&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  HeldObject& operator=(HeldObject&&) = delete;
  HeldObject(const HeldObject&) = delete;
  HeldObject& operator=(const HeldObject&) = delete;
  ~HeldObject() {
    if (object_ != nullptr) client.objects.drop(*object_);
  }
  [[nodiscard]] Object& operator*() const { return *object_; }

 private:
  Object* object_;
};

// The same for a memory object that may be known by its handle alone.
class HeldMemory {
 public:
  explicit HeldMemory(cl_mem memory)
      : memory_(memory != nullptr && client::clRetainMemObject(memory) == CL_SUCCESS ? memory : nullptr) {}
  HeldMemory(HeldMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  HeldMemory& operator=(HeldMemory&&) = delete;
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() {
    if (memory_ != nullptr) client::clReleaseMemObject(memory_);
  }
  [[nodiscard]] const Object* object() const { return memory_ == nullptr ? nullptr : find(memory_); }

 private:
  cl_mem memory_;
};

// What has to be known of a command to decide on it.
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
  // Of an open one that uses something: its gate, and all copies, which the program may have let go of when
  // it is decided on.
  std::shared_ptr<Gate> gate;
  std::vector<HeldMemory> replicas;
};

class CommandOrder {
 public:
  // Whether a part's server is there.
  using IsAlive = std::function<bool(std::size_t shard)>;

  CommandOrder(std::vector<cl_command_queue> migration_queue, IsAlive is_alive)
      : migration_queues_(std::move(migration_queue)), is_alive_(std::move(is_alive)) {}
  CommandOrder(const CommandOrder&) = delete;
  CommandOrder& operator=(const CommandOrder&) = delete;
  ~CommandOrder();

  enum class Decision : std::uint8_t { decided, deferred, lost };
  // Decides on the command if it is settled, or keeps it for later with a gate. Lost: contents that it needs
  // have gone with their server.
  Decision submit(const std::shared_ptr<OrderedCommand>& entry, Dependencies& dependencies);

  // It was not enqueued.
  void withdraw(const std::shared_ptr<OrderedCommand>& entry);

  // The program has set a user event, or an open command has failed, or an open marker or barrier has ended:
  // decides on what is settled now, in the order in which it was enqueued.
  struct Decided {
    std::shared_ptr<OrderedCommand> entry;
    Dependencies dependencies;
    bool is_lost;
  };
  std::vector<Decided> take_decidable();
  // And begins it.
  void decide_pending();

  std::mutex& mutex() { return mutex_; }
  // The queue for moves to and from a part's server; null: it had gone.
  [[nodiscard]] cl_command_queue migration_queue(std::size_t shard) const { return migration_queues_[shard]; }
  [[nodiscard]] bool is_alive(std::size_t shard) const { return is_alive_(shard); }

 private:
  using Deferred = std::list<std::shared_ptr<OrderedCommand>>;

  [[nodiscard]] bool is_decidable(const OrderedCommand& entry, Deferred::const_iterator end) const;
  static bool decide(OrderedCommand& entry, Dependencies& dependencies);

  std::mutex mutex_;
  const std::vector<cl_command_queue> migration_queues_;
  const IsAlive is_alive_;
  Deferred deferred_;  // in the order in which they were enqueued
};

// Begins what was decided on. What the gate is to wait for, it waits for from here on.
void begin_work(const Dependencies& dependencies, Gate* gate);

// Waits until the event has ended; CL_SUCCESS or its error.
cl_int wait_for_end(cl_event event);

}  // namespace cleave::remote::client::multi_server
