// Which commands a user event holds up, directly or through other commands. For a driver that executes a queue's commands
// on the thread that waits for them, and would spin there, with our lock held, until the event is set.
//
// A gate stands for a user event and is open once that is set. What depends on a command depends on the command's gates.
// On an in-order queue every command depends on all before it; finishing any queue depends on all of its commands.
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/opencl.h"
#include "base/threads/mutex.h"

namespace cleave::remote::server {

class HeldCommands {
 public:
  struct Gate;
  using Gates = std::vector<std::shared_ptr<Gate>>;
  using Events = std::span<const cl_event>;

  // An object that the driver has just made: whatever was known of an earlier one at the same address is forgotten.
  void add_queue(cl_command_queue queue, bool in_order);
  void add_user_event(cl_event event);
  // `event` may be null. Unknown queues count as in order, unknown events as complete.
  void add_command(cl_command_queue queue, Events waits, cl_event event);

  void open(cl_event user_event);
  void remove(cl_event event);
  void remove(cl_command_queue queue);

  // The closed gates that a wait for these events depends on, or the execution of all that is on the queue and of a
  // command behind `waits`. Empty: it does not wait for the program.
  [[nodiscard]] Gates before_events(Events events);
  [[nodiscard]] Gates before_queue(cl_command_queue queue, Events waits = {});

  void wait_until_open(const Gates& gates);

 private:
  // `own`: of waiting for it alone; `all`: of finishing its queue as well.
  struct Dependencies {
    Gates own;
    Gates all;
  };
  struct QueueState {
    bool in_order = true;
    Dependencies on;
  };
  static void merge(Gates& into, const Gates& from);
  [[nodiscard]] Dependencies dependencies_of(Events events) const CLEAVE_REQUIRES(mutex_);

  base::Mutex mutex_;
  base::CondVar opened_;
  std::unordered_map<cl_event, Dependencies> events_ CLEAVE_GUARDED_BY(mutex_);
  std::unordered_map<cl_event, std::shared_ptr<Gate>> user_events_ CLEAVE_GUARDED_BY(mutex_);
  std::unordered_map<cl_command_queue, QueueState> queues_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave::remote::server
