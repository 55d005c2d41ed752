// This process's turns on one device (docs/turns.md): when its threads hold the device, what they have on it, and when it
// is given away.
//
// A thread that launches uses it like this, with TurnUse:
//
//   TurnUse use(turn);                      // waits until the process holds the device
//   if (!use.holds()) { launch as without turns }
//   use.make_room(room, expected);          // waits while enough is in flight; gives the device away if others should have it
//   enqueue;
//   use.enqueued({...});                    // what is on the device now
//
// After that the process holds the device until what it has enqueued has ended, and for its grace (turns/grace.h). The end is
// noticed by the program's own waits, which report to settle(), or else by a thread of ours that polls between sleeps
// and exists from the first turn on.
//
// What keeps the program's thread waiting here is bounded: a command that does not begin, or that takes much longer than
// expected, is no longer counted as ours, since it may depend on the program.
//
// Thread-safe. No lock is held while the driver is called, but to take a reference to an event, or while a turn is waited
// for. Does not throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fork_locks.h"
#include "base/mutex.h"
#include "base/opencl.h"
#include "interpose/turns/turn_log.h"
#include "launch/event.h"
#include "launch/launch.h"
#include "learn/cost_table.h"
#include "limits/live_limits.h"
#include "observe/summary.h"
#include "turns/grace.h"
#include "turns/turns.h"

namespace cleave::interpose {

// While other processes share the device, launches are cut into slices of about so long at least.
inline constexpr base::Nanoseconds kTurnSlice{62'500};

// What is enqueued in so many commands or more is measured by these.
inline constexpr std::size_t kMeasuredByCommands = 4;

// So much of it tells what cutting it finer costs, to a few per cent.
inline constexpr base::Nanoseconds kTelling{3'000'000};

// How launches are held back. A command is as many slices as take about `command`, and `in_flight` of them are on the device,
// or as many as take `window` together; of slices or launches longer than `longest_ahead`, one. Of whole launches, those that take
// `launches` together: the end of each is noticed some hundredths or tenths of a millisecond late, and the device must have something to
// do until then.
struct Pace {
  base::Nanoseconds command;
  std::size_t in_flight;
  base::Nanoseconds window;
  base::Nanoseconds launches;
  base::Nanoseconds longest_ahead = base::Nanoseconds::max();
};

// What is to be enqueued: some slices of a launch, or a whole one.
enum class Room : std::uint8_t { for_slices, for_launch };

// By how much the process's weight counts while it launches: by a quarter for queues of low priority (cl_khr_priority_hints).
// Those of high priority have no more than the others: what a process may have is not its own to say.
enum class LaunchWeight : std::uint8_t { whole, quarter };

// A command that has been enqueued in a turn.
struct TurnCommand {
  cl_command_queue queue = nullptr;
  cl_event event = nullptr;       // null: its end is seen when the program waits for the queue, or guessed
  base::Nanoseconds expected{0};  // how long it takes; 0: unknown
  learn::Key key = 0;             // under which its duration is kept; 0: it is not
  base::Nanoseconds since{0};     // when that began, if not with this command; 0: with it
  bool is_part = false;           // of a launch of which more follows
  std::size_t fineness = 1;       // PolicyDecision::fineness
};

class DeviceTurn {
 public:
  // `durations` learns what commands take. Weight and cap are those of `live`. `trace` may be null. `name`: the device's.
  // Everything must outlive this.
  DeviceTurn(const Table& next, base::Clock& clock, learn::CostTable& durations, limits::LiveLimits& live,
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

  // Without what is guarded by the lock if another thread has that, or this one, in a signal handler.
  [[nodiscard]] observe::TurnFigures report();

  // Whether the process holds the device.
  [[nodiscard]] bool held() const noexcept { return holds_.load(std::memory_order_relaxed); }

  // Joins when called for the first time. False if there are no turns on this device, and then contended() is false; the call
  // that finds that out sets `problem`.
  bool enter(std::string& problem) noexcept;
  // Weight or cap have changed.
  void follow_limits() noexcept;
  // Gives the device away and leaves for good.
  void leave() noexcept;

  // A wait of the program has ended: for everything on `queue`, or, if that is null, for something.
  void settle(cl_command_queue queue) noexcept;

  // Around fork().
  void before_fork() { forks_.before_fork(); }
  void after_fork_in_parent() { forks_.after_fork_in_parent(); }
  void after_fork_in_child() { forks_.after_fork_in_child(); }

 private:
  friend class TurnUse;

  static constexpr turns::Ns kMillisecond = 1'000'000;
  // How often an end is looked for: not more often than that, and then with pauses of a share of the time waited.
  static constexpr turns::Ns kShortestSleep = 15'000;
  static constexpr int kShareOfWait = 12;
  // How many times as long as expected a command may take.
  static constexpr int kTimesExpected = 4;

  enum class Part : std::uint8_t { none_yet, joined, impossible };
  struct InFlight {
    launch::Event event;
    cl_command_queue queue = nullptr;
    turns::Ns enqueued = 0;
    turns::Ns expected = 0;
    learn::Key key = 0;
    turns::Ns since = 0;   // what the key stands for; 0: when the command before it had ended
    unsigned count = 1;    // of commands with this key that end with it; 0: not all have it
    turns::Ns before = 0;  // of `expected`: of commands that do not count
    bool is_part = false;  // of a launch of which more follows
    std::size_t fineness = 1;
  };
  // Commands without an event since the last one that had one.
  struct Unmarked {
    cl_command_queue queue = nullptr;
    unsigned count = 0;
    turns::Ns since = 0;
    turns::Ns expected = 0;
    learn::Key key = 0;     // of all of them; 0: they differ
    bool is_alone = false;  // nothing else was on the device when the first of them was enqueued
  };

  // For TurnUse.
  [[nodiscard]] Pace pace() const noexcept;
  bool begin(LaunchWeight weight) noexcept;
  void finish(LaunchWeight weight) noexcept;
  [[nodiscard]] bool goes_whole(base::Nanoseconds expected, std::size_t slices) noexcept;
  launch::WaitResult make_room(Room room, base::Nanoseconds expected, const std::atomic<int>* abort) noexcept;
  [[nodiscard]] bool wants_event(const TurnCommand& next) noexcept;
  void enqueued(const TurnCommand& command) noexcept;

  void apply_limits() CLEAVE_REQUIRES(mutex_);
  // These may release the mutex meanwhile.
  bool acquire(base::MutexLock& lock) CLEAVE_REQUIRES(mutex_);
  launch::WaitResult wait_for_room(base::MutexLock& lock, Room room, turns::Ns expected,
                                   const std::atomic<int>* abort) CLEAVE_REQUIRES(mutex_);
  bool pass_on(const std::atomic<int>* abort) CLEAVE_REQUIRES(mutex_);
  launch::WaitResult wait_for_oldest(turns::Ns early, const std::atomic<int>* abort) CLEAVE_REQUIRES(mutex_);
  enum class Measured : std::uint8_t { no, yes };
  void collect(Measured measured = Measured::yes) CLEAVE_REQUIRES(mutex_);
  turns::Ns look_after() CLEAVE_REQUIRES(mutex_);

  template <typename Change>
  bool change_holder(Change change) CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] bool is_empty() const CLEAVE_REQUIRES(mutex_) {
    return flight_.empty() && unmarked_.count == 0;
  }
  [[nodiscard]] turns::Ns work_in_flight() const CLEAVE_REQUIRES(mutex_);
  void forget_oldest() CLEAVE_REQUIRES(mutex_);
  void forget_all() CLEAVE_REQUIRES(mutex_);
  void release_later(launch::Event event) noexcept CLEAVE_REQUIRES(mutex_);
  void release_events() CLEAVE_REQUIRES(mutex_);
  void observe(learn::Key key, unsigned count, std::size_t fineness, turns::Ns took) const noexcept;
  void oldest_ended(turns::Ns end) CLEAVE_REQUIRES(mutex_);
  void note_end(turns::Ns running_at, bool is_dry) CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] turns::Ns likely_end(turns::Ns running_at, turns::Ns at) const CLEAVE_REQUIRES(mutex_);
  void unmarked_ended(bool seen) CLEAVE_REQUIRES(mutex_);
  void note_idle() CLEAVE_REQUIRES(mutex_);
  void note_use() CLEAVE_REQUIRES(mutex_);
  void give_back() CLEAVE_REQUIRES(mutex_);
  void note_problem(const std::string& problem) noexcept CLEAVE_REQUIRES(mutex_);
  void lose_turns() noexcept CLEAVE_REQUIRES(mutex_);
  [[nodiscard]] turns::Ns now() const;
  void sleep_for(turns::Ns time) const;
  [[nodiscard]] bool has_ended(cl_event event) const noexcept;
  struct Awaited {
    launch::WaitResult how;
    turns::Ns running_at = 0;  // when it was last seen not to have ended; 0: never
  };
  [[nodiscard]] Awaited await(cl_event event, turns::Ns expected_end, turns::Ns early,
                              const std::atomic<int>* abort) const;

  void start_keeper() CLEAVE_REQUIRES(mutex_);
  void keep() noexcept;
  void reset_in_child() noexcept CLEAVE_REQUIRES(mutex_);

  const Table& next_;
  base::Clock& clock_;
  learn::CostTable& durations_;
  base::ForkLocks forks_;
  limits::LiveLimits& live_;
  // What contended() reads is side by side.
  std::atomic<Part> part_{Part::none_yet};
  std::atomic<bool> gave_up_{false};  // too many commands did not end in time
  const std::unique_ptr<turns::Turns> turns_;
  const std::string file_;
  TurnLog log_;
  std::atomic<bool> stopped_{false};      // the keeper ends, and calls the driver no more
  std::atomic<std::uint64_t> number_{0};  // of turns
  std::atomic<bool> holds_{false};        // changed with the lock, read without it by settle()
  std::atomic<bool> ran_dry_{false};
  // Launches with too few slices to be measured by these.
  std::atomic<std::uint32_t> unmeasured_{0};

  base::Mutex mutex_;
  base::CondVar changed_;  // `changing_` is over
  base::CondVar keeper_wakes_;
  bool changing_ CLEAVE_GUARDED_BY(mutex_) = false;  // a thread waits for a turn, or gives it away
  unsigned stalls_ CLEAVE_GUARDED_BY(mutex_) = 0;    // that are not forgotten
  turns::Ns stalled_at_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::vector<launch::Event> unreleased_ CLEAVE_GUARDED_BY(mutex_);  // to be released
  unsigned inside_ CLEAVE_GUARDED_BY(mutex_) = 0;                    // threads between begin() and finish()
  unsigned important_ CLEAVE_GUARDED_BY(mutex_) =
      0;  // launches of whole weight, also those that wait for the turn
  bool quartered_ CLEAVE_GUARDED_BY(mutex_) =
      false;  // its weight, since only launches of low priority are made or wait
  turns::Ns inside_since_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::deque<InFlight> flight_ CLEAVE_GUARDED_BY(mutex_);
  Unmarked unmarked_ CLEAVE_GUARDED_BY(mutex_);
  turns::Ns last_end_ CLEAVE_GUARDED_BY(mutex_) = 0;    // when the command before the oldest one has ended
  turns::Ns launch_end_ CLEAVE_GUARDED_BY(mutex_) = 0;  // when the launch before that of the oldest one has
  turns::Ns unmarked_before_ CLEAVE_GUARDED_BY(mutex_) =
      0;  // when a command was enqueued behind some without an event
  turns::Ns asked_at_ CLEAVE_GUARDED_BY(mutex_) = 0;      // whether others should have the device
  turns::Ns idle_since_ CLEAVE_GUARDED_BY(mutex_) = 0;    // 0: not idle
  turns::Ns unused_since_ CLEAVE_GUARDED_BY(mutex_) = 0;  // held with nothing on it; 0: there is something
  turns::Grace grace_ CLEAVE_GUARDED_BY(mutex_);
  std::uint32_t periods_ CLEAVE_GUARDED_BY(mutex_) = 0;  // Turns::periods(), as of the latest launch
  // What was enqueued without turns may be on the device still, before the first command of a turn.
  bool has_backlog_ CLEAVE_GUARDED_BY(mutex_) = false;
  unsigned backlog_stalls_ CLEAVE_GUARDED_BY(mutex_) = 0;
  std::string problem_ CLEAVE_GUARDED_BY(mutex_);  // why there are no turns
  std::unique_ptr<std::thread> keeper_ CLEAVE_GUARDED_BY(mutex_);
  turns::Ns keeper_looks_at_ CLEAVE_GUARDED_BY(mutex_) = 0;
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

  // Waits until a command that takes `expected` (0: unknown) may be enqueued: at most one other is in flight, or together they are
  // short. If others should have the device it is given away, and comes back. Not `complete` if a command did not end in
  // time (`stalled`), or because `abort` (may be null) is not 0: then the launch should be enqueued at once.
  launch::WaitResult make_room(Room room, base::Nanoseconds expected,
                               const std::atomic<int>* abort = nullptr) {
    return turn_.make_room(room, expected, abort);
  }
  [[nodiscard]] Pace pace() const { return turn_.pace(); }
  // Whether a launch that can be cut into `slices` should be made whole nevertheless: as a single command, or to measure what it
  // takes. `expected`: that, 0 if it is unknown.
  [[nodiscard]] bool goes_whole(base::Nanoseconds expected, std::size_t slices) {
    return turn_.goes_whole(expected, slices);
  }
  // Whether the device has been idle although there was more to enqueue, since it was asked last: commands are shorter than
  // expected.
  [[nodiscard]] bool ran_dry() { return turn_.ran_dry_.exchange(false, std::memory_order_relaxed); }
  // Changes whenever the device has been given away.
  [[nodiscard]] std::uint64_t turn() const { return turn_.number_.load(std::memory_order_relaxed); }
  // For the statistics: a launch of the program is made in this turn.
  void count_launch() { turn_.log_.count_launch(); }
  // How long the process has waited for turns since it began.
  [[nodiscard]] base::Nanoseconds waited() const { return turn_.log_.waited(); }
  // Whether the next command, for which the program wants no event, should have one.
  [[nodiscard]] bool wants_event(const TurnCommand& next) { return turn_.wants_event(next); }
  // Takes a reference of its own to the event.
  void enqueued(const TurnCommand& command) { turn_.enqueued(command); }

 private:
  DeviceTurn& turn_;
  const LaunchWeight weight_;
  const bool holds_;
};

}  // namespace cleave::interpose
