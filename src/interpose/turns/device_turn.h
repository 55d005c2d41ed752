// This process's turns on one device (docs/turns.md): when its threads hold the device, what they have on it, and when
// it is passed on.
//
// A thread that launches uses it like this, with TurnUse:
//
//   TurnUse use(turn);                      // waits until the process holds the device
//   if (!use.holds()) { launch as without turns }
//   use->make_room(room, expected);          // waits while enough is in flight; passes the device on if others should have it
//   enqueue;
//   use->enqueued({...});                    // what is on the device now
//
// After that the process holds the device until what it has enqueued has ended, and for its grace (turns/grace.h). The end is
// noticed by the program's own waits, which report to settle(), or else by a thread of ours that polls between sleeps
// and exists from the first turn on.
//
// What keeps the program's thread waiting here is bounded: a command that does not begin, or that takes much longer than
// expected, is no longer counted as ours, since it may depend on the program.
//
// Each part is a class: turn_holder.h (whether this process holds the device), commands_in_flight.h (what is on it),
// pace.h and turn_costs.h (how much may be, and how long it takes), launches_in_turn.h (for which launches),
// turn_keeper.h (the thread that watches it).
//
// Thread-safe. No lock is held while the driver is called, but to take a reference to an event, or while a turn is waited
// for. Does not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/opencl.h"
#include "base/threads/fork_locks.h"
#include "base/threads/mutex.h"
#include "interpose/turns/commands_in_flight.h"
#include "interpose/turns/launches_in_turn.h"
#include "interpose/turns/pace.h"
#include "interpose/turns/turn_costs.h"
#include "interpose/turns/turn_holder.h"
#include "interpose/turns/turn_keeper.h"
#include "launch/launch.h"
#include "limits/live_limits.h"
#include "observe/summary.h"
#include "turns/turns.h"

namespace cleave::interpose {

class DeviceTurn {
 public:
  // `costs` learns what commands take. Weight and cap are those of `live`. `trace` may be null. `name`: the device's.
  // Everything must outlive this.
  DeviceTurn(const Table& next, base::Clock& clock, TurnCosts& costs, limits::LiveLimits& live,
             const turns::Options& options, Tracer* trace, std::string name);
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;
  ~DeviceTurn();

  // Whether launches have to be made in turns, since other processes share the device: some relaxed loads. True also until enter().
  [[nodiscard]] bool contended() const noexcept {
    const Part part = part_.load(std::memory_order_relaxed);
    return part == Part::none_yet ||
           (part == Part::joined && turns_->contended() && !gave_up_.load(std::memory_order_relaxed));
  }

  // Whether it shares the device now.
  [[nodiscard]] bool takes_part() const noexcept {
    return part_.load(std::memory_order_relaxed) == Part::joined && contended();
  }

  // Leaves out what the lock guards if the lock is held (perhaps by this thread, if called in a signal handler).
  [[nodiscard]] observe::TurnFigures report();

  // Whether the process holds the device.
  [[nodiscard]] bool held() const noexcept { return holder_.holds(); }

  // Joins when called for the first time. False if there are no turns on this device; contended() is then false, too,
  // and the first such call sets `problem`.
  bool enter(std::string& problem) noexcept;
  // Weight or cap have changed.
  void follow_limits() noexcept;
  // Passes the device on and leaves permanently.
  void leave() noexcept;

  // The program has finished a wait: for everything on `queue`, or, if `queue` is null, for something unspecified.
  void settle(cl_command_queue queue) noexcept;

  // For a launch whose TurnUse holds the device:

  // Waits until a command that takes `expected` (0: unknown) may be enqueued: at most one other is in flight, or
  // together they are short. If others should have the device, it is passed on, and comes back. Not `complete` if a
  // command did not end in time (`stalled`), or because `abort` (may be null) is not 0: then the launch should be
  // enqueued at once.
  launch::WaitResult make_room(Room room, base::Nanoseconds expected,
                               const std::atomic<int>* abort = nullptr) noexcept;
  [[nodiscard]] Pace pace() const noexcept { return pace_for(turns_->haste_of_others()); }
  // Whether, since the last call, the device has been idle although there was more to enqueue: commands are shorter
  // than expected.
  [[nodiscard]] bool ran_dry() noexcept;
  // Changes whenever the device has been passed on.
  [[nodiscard]] std::uint64_t turn() const noexcept { return holder_.turn(); }
  // What the process has had of its turns.
  [[nodiscard]] TurnLog& log() noexcept { return holder_.log(); }
  // Whether the next command, for which the program wants no event, should have one.
  [[nodiscard]] bool wants_event(const TurnCommand& next) noexcept;
  // Takes a reference of its own to the event.
  void enqueued(const TurnCommand& command) noexcept;

  // Around fork().
  void before_fork() { forks_.before_fork(); }
  void after_fork_in_parent() { forks_.after_fork_in_parent(); }
  void after_fork_in_child() { forks_.after_fork_in_child(); }

 private:
  friend class TurnUse;

  enum class Part : std::uint8_t { none_yet, joined, impossible };

  // For TurnUse.
  bool begin(LaunchWeight weight) noexcept;
  void finish(LaunchWeight weight) noexcept;

  void apply_limits() CLEAVE_REQUIRES(holder_.mutex);
  // These may release the mutex meanwhile.
  bool acquire(base::MutexLock& lock) CLEAVE_REQUIRES(holder_.mutex);
  template <typename Change>
  bool change_holder(Change change) CLEAVE_REQUIRES(holder_.mutex);
  launch::WaitResult wait_for_room(base::MutexLock& lock, Room room, turns::Ns expected,
                                   const std::atomic<int>* abort) CLEAVE_REQUIRES(holder_.mutex);
  bool keeps_back(Room room, turns::Ns expected) CLEAVE_REQUIRES(holder_.mutex);
  bool pass_on(const std::atomic<int>* abort) CLEAVE_REQUIRES(holder_.mutex);
  launch::WaitResult wait_for_oldest(turns::Ns early, const std::atomic<int>* abort)
      CLEAVE_REQUIRES(holder_.mutex);
  void collect(CommandsInFlight::Measured measured = CommandsInFlight::Measured::yes)
      CLEAVE_REQUIRES(holder_.mutex);
  turns::Ns look_after() CLEAVE_REQUIRES(holder_.mutex);
  void release_events() CLEAVE_REQUIRES(holder_.mutex);

  void note_problem(const std::string& problem) noexcept CLEAVE_REQUIRES(holder_.mutex);
  void lose_turns() noexcept CLEAVE_REQUIRES(holder_.mutex);
  void keep() noexcept;
  void reset_in_child() noexcept CLEAVE_REQUIRES(holder_.mutex);

  const Table& next_;
  base::Clock& clock_;
  base::ForkLocks forks_;
  limits::LiveLimits& live_;
  // What contended() reads is side by side.
  std::atomic<Part> part_{Part::none_yet};
  std::atomic<bool> gave_up_{false};  // too many commands did not end in time
  const std::unique_ptr<turns::Turns> turns_;

  TurnHolder holder_;
  CommandsInFlight flight_ CLEAVE_GUARDED_BY(holder_.mutex);
  LaunchesInTurn launches_ CLEAVE_GUARDED_BY(holder_.mutex);
  std::uint32_t periods_ CLEAVE_GUARDED_BY(holder_.mutex) = 0;  // Turns::periods(), as of the latest launch
  std::string problem_ CLEAVE_GUARDED_BY(holder_.mutex);        // why there are no turns
  TurnKeeper keeper_;
};

// The part of one launch in the turns, for the duration of a scope.
class TurnUse {
 public:
  explicit TurnUse(DeviceTurn& turn, LaunchWeight weight = LaunchWeight::whole)
      : turn_(turn), weight_(weight), holds_(turn.begin(weight)) {}
  TurnUse(const TurnUse&) = delete;
  TurnUse& operator=(const TurnUse&) = delete;
  ~TurnUse() {
    if (holds_) turn_.finish(weight_);
  }

  [[nodiscard]] bool holds() const { return holds_; }
  // Requires: holds().
  DeviceTurn* operator->() const { return &turn_; }

 private:
  DeviceTurn& turn_;
  const LaunchWeight weight_;
  const bool holds_;
};

}  // namespace cleave::interpose
