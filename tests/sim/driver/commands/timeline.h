// Virtual time, and the commands that run in it.
//
// A command waits for `blockers` to end: those of its wait list (whose failure it inherits) and those that
// its queue's order puts before it (whose failure it does not). When the last has ended and the command has
// been submitted, it is ready. A device takes ready commands when it has room, the one that has been ready
// for longest first, so that queues take turns. At END the command's effect happens.
//
//   queued --flush, submit_delay--> submitted --no blockers, room--> running --duration--> complete or failed
//
// Who owns what: a queue holds its incomplete commands, and so do the commands that block others hold those
// others. A command holds its queue, event and effect (with the objects that it uses) until it ends, then
// lets go of them.
//
// Threads: everything but now() happens under the lock of the DriverState.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/driver/core/objects.h"
#include "tests/sim/driver/types.h"

namespace cleave::sim {

struct Command : std::enable_shared_from_this<Command> {
  cl_command_type type = 0;
  std::uint64_t serial = 0;
  std::shared_ptr<Queue> queue;           // null for user events, and once complete
  Device* device = nullptr;               // the root device whose time it takes; null if it takes none
  std::function<Nanoseconds()> duration;  // asked at START
  std::function<void()> effect;           // at END, unless the command fails
  std::shared_ptr<Launch> launch;         // of a kernel
  std::shared_ptr<Event> event;           // if the program requested one; until complete

  std::vector<std::shared_ptr<Command>> awaited_commands;  // the wait list, until started
  std::vector<std::shared_ptr<Command>> dependents;
  std::size_t blockers = 0;
  bool flushed = false;
  cl_int final_status = CL_COMPLETE;  // what the status will be at END

  cl_int status = CL_QUEUED;
  Nanoseconds queued{};
  Nanoseconds submitted{};
  Nanoseconds ready{};
  Nanoseconds started{};
  Nanoseconds ended{};

  bool done() const { return status <= CL_COMPLETE; }
};

class Timeline {
 public:
  explicit Timeline(DriverState& state) : state_(state) {}

  Nanoseconds now() const { return Nanoseconds(now_.load(std::memory_order_acquire)); }

  // Puts a command into its queue behind what must come before it. `barrier`: later commands wait for it.
  // `waits_for_all`: it waits for all commands of the queue even if that is out of order.
  struct Placement {
    bool barrier = false;
    bool waits_for_all = false;
  };
  void add(const std::shared_ptr<Command>& command, Placement placement);
  void flush(Queue& queue);

  // A user event's command ends now.
  void end_now(const std::shared_ptr<Command>& command, cl_int status);

  // Makes the next thing happen, moving time to it, if that is not after `limit`. False if there is no such
  // thing.
  bool step(Nanoseconds limit);
  bool idle() const { return agenda_.empty(); }
  // Moves time forward to `time`, if that lies ahead.
  void jump(Nanoseconds time);

  // Forgets all commands.
  void clear();

 private:
  using Key = std::pair<Nanoseconds, std::uint64_t>;

  void block(const std::shared_ptr<Command>& command, const std::shared_ptr<Command>& blocker);
  void submit(const std::shared_ptr<Command>& command);
  void make_ready(const std::shared_ptr<Command>& command);
  bool has_capacity(Device* device) const;
  void unblock(const std::shared_ptr<Command>& command);
  void settle();
  bool start_next();
  void start(const std::shared_ptr<Command>& command);
  void end(const std::shared_ptr<Command>& command);
  void change(Command& command, cl_int status);

  DriverState& state_;
  std::atomic<Nanoseconds::rep> now_{0};
  std::uint64_t serial_ = 0;
  // What will happen: the END of running commands, the SUBMIT of flushed ones.
  std::map<Key, std::shared_ptr<Command>> agenda_;
  // By device, null for commands that take no device's time; each in the order in which they became ready.
  std::map<Device*, std::map<Key, std::shared_ptr<Command>>> ready_;
  std::map<Device*, unsigned> running_;
};

}  // namespace cleave::sim
