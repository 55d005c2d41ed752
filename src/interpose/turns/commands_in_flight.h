// The commands of this process that are on a device in its turns, as far as known: those with events, in the order in
// which they were enqueued, and those without events that came after the last of these. The ends of the latter are
// guessed. Measures commands that have ended.
//
// Externally synchronised. Never calls the driver. Events are kept until take_unreleased(), since releasing one may
// call the program back, and the program us.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/opencl.h"
#include "interpose/turns/pace.h"
#include "interpose/turns/stalls.h"
#include "interpose/turns/turn_costs.h"
#include "launch/event.h"
#include "turns/state.h"

namespace cleave::interpose {

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

class CommandsInFlight {
 public:
  struct InFlight {
    launch::Event event;
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
    cl_command_queue queue = nullptr;  // null: of several
    unsigned count = 0;
    turns::Ns since = 0;
    turns::Ns expected = 0;
    learn::Key key = 0;     // of all of them; 0: they differ
    bool is_alone = false;  // nothing else was on the device when the first of them was enqueued
  };

  // `costs` learns what commands take, and must outlive this.
  explicit CommandsInFlight(TurnCosts& costs) : costs_(costs) { unreleased_.reserve(64); }

  [[nodiscard]] bool is_empty() const { return flight_.empty() && unmarked_.count == 0; }
  // The number of commands with events; those without come after them.
  [[nodiscard]] std::size_t size() const { return flight_.size(); }
  [[nodiscard]] const Unmarked& unmarked() const { return unmarked_; }
  // Require: size() > 0.
  [[nodiscard]] const InFlight& oldest() const { return flight_.front(); }
  [[nodiscard]] cl_event newest_event() const { return flight_.back().event.get(); }
  [[nodiscard]] turns::Ns oldest_began() const { return std::max(oldest().enqueued, last_end_); }

  [[nodiscard]] bool is_oldest(cl_event event) const {
    return !flight_.empty() && oldest().event.get() == event;
  }
  // When all will have ended, if at most one has an event.
  [[nodiscard]] turns::Ns expected_end() const;
  // Whether another one may be enqueued that takes `expected`, or 0 if that is unknown.
  [[nodiscard]] bool has_room(Room room, turns::Ns expected, const Pace& pace) const;
  // When it should be, if there is room; 0: at once. A slice that is longer than others should have to wait for is kept back until what is
  // on the device is about to end, since they would wait for both. One that may run alongside that, until half of it is over: the
  // last work-groups of a slice leave most of the device idle.
  [[nodiscard]] turns::Ns earliest(Room room, turns::Ns expected, const Pace& pace) const;
  // Whether the next one, for which the program wants no event, should have one.
  [[nodiscard]] bool wants_event(const TurnCommand& next, const Pace& pace) const;

  // `event`: of the command, or empty. `is_shared`: other launches are being made at the same time.
  void add(const TurnCommand& command, launch::Event event, turns::Ns at, bool is_shared);
  // Before the first command of a turn, commands that were enqueued without turns may still be on the device.
  void expect_backlog() { has_backlog_ = true; }

  // The oldest has ended, at `at`; measured or not.
  enum class Measured : bool { no, yes };
  void end_oldest(turns::Ns at, Measured measured);
  // It was waited for, and last seen to run at `running_at` (0: never); if `is_dry`, the newest has ended, too.
  void end_awaited(turns::Ns running_at, turns::Ns at, bool is_dry);
  // Those without events have ended. `is_seen`: the program has just waited for them.
  void end_unmarked(turns::Ns at, bool is_seen);
  // The newest had ended when the oldest was waited for: the device has been idle.
  void note_dry() { ran_dry_ = true; }
  // Whether that was so since the last call.
  [[nodiscard]] bool take_dry() { return std::exchange(ran_dry_, false); }
  // The oldest did not end in time: none counts any more. Returns what Stalls::add() does.
  bool stall(turns::Ns at);
  void forget_oldest();
  void forget_all();

  void release_later(launch::Event event) noexcept;
  [[nodiscard]] bool has_unreleased() const { return !unreleased_.empty(); }
  [[nodiscard]] std::vector<launch::Event> take_unreleased() { return std::exchange(unreleased_, {}); }

  // The parent's commands are not this process's.
  void reset_in_child() noexcept;

 private:
  [[nodiscard]] bool is_within_window(Room room, turns::Ns expected, const Pace& pace) const;
  [[nodiscard]] turns::Ns work() const;  // what all are expected to take
  void observe_oldest(turns::Ns end);
  [[nodiscard]] turns::Ns likely_end(turns::Ns running_at, turns::Ns at) const;

  TurnCosts& costs_;
  std::deque<InFlight> flight_;
  Unmarked unmarked_;
  turns::Ns last_end_ = 0;         // when the command before the oldest one has ended
  turns::Ns launch_end_ = 0;       // when the launch before the oldest one's has ended
  turns::Ns unmarked_before_ = 0;  // when a command was enqueued behind some without an event
  bool has_backlog_ = false;
  bool ran_dry_ = false;
  Stalls stalls_;
  std::vector<launch::Event> unreleased_;
};

}  // namespace cleave::interpose
