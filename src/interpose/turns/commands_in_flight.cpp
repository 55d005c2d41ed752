#include "interpose/turns/commands_in_flight.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "interpose/turns/command_wait.h"

namespace cleave::interpose {
namespace {

using turns::Ns;

// Of a command of which nothing is known.
constexpr Ns kUnknown = 125'000;
// Whole commands of so much device time need no event if the program wants none, and no more than so many.
constexpr Ns kMostUnmarked = 250'000;
constexpr unsigned kMostUnmarkedCommands = 64;
// So many commands with events are in flight at most, however short they are expected to be: they may not be.
constexpr std::size_t kMostInFlight = 32;
// A slice that is kept back is enqueued so long before those before it are expected to end.
constexpr Ns kAhead = 200'000;
// By which part of it an estimate becomes less that has turned out to be too long.
constexpr int kLess = 8;

Ns or_unknown(Ns expected) { return expected > 0 ? expected : kUnknown; }

}  // namespace

Ns CommandsInFlight::expected_end() const {
  const Ns end = unmarked_.count != 0 ? unmarked_.since + unmarked_.expected : 0;
  return flight_.empty() ? end : std::max(end, oldest_began() + oldest().expected);
}

bool CommandsInFlight::has_room(Room room, Ns expected, const Pace& pace) const {
  return is_within_window(room, expected, pace) || flight_.size() < pace.in_flight;
}

bool CommandsInFlight::is_within_window(Room room, Ns expected, const Pace& pace) const {
  const Ns window = (room == Room::for_launch ? pace.launches : pace.window).count();
  return flight_.size() < kMostInFlight && work() + or_unknown(expected) <= window;
}

Ns CommandsInFlight::work() const {
  const auto add = [](Ns sum, const InFlight& each) { return sum + or_unknown(each.expected); };
  return std::accumulate(flight_.begin(), flight_.end(), unmarked_.expected, add);
}

Ns CommandsInFlight::earliest(Room room, Ns expected, const Pace& pace) const {
  const bool is_kept_back = room != Room::for_launch && !flight_.empty() &&
                            expected > pace.longest_ahead.count() && !is_within_window(room, expected, pace);
  if (!is_kept_back) return 0;
  const Ns ahead = room == Room::for_slices ? std::max(kAhead, expected / 2) : kAhead;
  return oldest_began() + work() - ahead;
}

bool CommandsInFlight::wants_event(const TurnCommand& next, const Pace& pace) const {
  if (next.expected.count() <= 0) return true;
  if (unmarked_.count != 0 && unmarked_.queue != next.queue) return true;
  if (unmarked_.count + 1 >= kMostUnmarkedCommands) return true;
  return unmarked_.expected + next.expected.count() > std::min(kMostUnmarked, pace.launches.count() / 2);
}

void CommandsInFlight::add(const TurnCommand& command, launch::Event event, Ns at, bool is_shared) {
  const Ns since = command.since.count();
  const bool same_queue = unmarked_.count != 0 && unmarked_.queue == command.queue;
  if (event.get() != nullptr) {
    const Unmarked before = same_queue ? std::exchange(unmarked_, {}) : Unmarked{};
    // Where nothing is known of the command, a guess is better than nothing.
    const bool is_known = command.expected.count() > 0;
    const bool are_alike = before.count == 0 || (before.key == command.key && since == 0);
    const unsigned of_a_kind = are_alike ? before.count + 1 : 0;
    // For a launch in slices the end of the previous slice must be known, and two at a time cannot be distinguished.
    if (before.count != 0) unmarked_before_ = at;
    const bool is_alone = since == 0 || (!is_shared && unmarked_before_ < since);
    // Commands that are measured together begin with the first of them.
    flight_.push_back(InFlight{.event = std::move(event),
                               .enqueued = before.count != 0 ? before.since : at,
                               .expected = command.expected.count() + before.expected,
                               .key = is_alone ? command.key : 0,
                               .since = since,
                               .count = is_known ? of_a_kind : 1,
                               .before = is_known ? 0 : before.expected,
                               .is_part = command.is_part,
                               .fineness = command.fineness});
    return;
  }
  const bool is_first = unmarked_.count == 0;
  if (is_first) {
    unmarked_.since = since != 0 ? since : at;
    unmarked_.is_alone = since != 0 || flight_.empty();
  }
  unmarked_.queue = is_first || same_queue ? command.queue : nullptr;
  unmarked_.key = is_first || (unmarked_.key == command.key && since == 0) ? command.key : 0;
  unmarked_.expected += or_unknown(command.expected.count());
  ++unmarked_.count;
}

void CommandsInFlight::end_awaited(Ns running_at, Ns at, bool is_dry) {
  if (oldest().expected <= oldest().before)
    return end_oldest(at, Measured::yes);  // unknown: better too long than nothing
  const auto add = [](Ns sum, const InFlight& each) { return sum + each.expected; };
  const Ns expected =
      is_dry ? std::accumulate(flight_.begin(), flight_.end(), Ns{0}, add) : oldest().expected;
  // If it was checked only long after the end, the time says nothing.
  if (running_at == 0 && at > oldest_began() + expected) return end_oldest(at, Measured::no);
  end_oldest(likely_end(running_at, at), Measured::yes);
}

// When the oldest command has ended. If it had ended at the first check, it perhaps takes less than expected; if the
// time of the check were taken as the end, each command would make the next one seem to begin later.
Ns CommandsInFlight::likely_end(Ns running_at, Ns at) const {
  const Ns sooner = oldest_began() + oldest().expected - oldest().expected / kLess;
  if (running_at < sooner) return std::min(sooner, at);
  return at - running_at > kEarlyLaunch ? at : running_at + (at - running_at) / 2;
}

void CommandsInFlight::end_oldest(Ns at, Measured measured) {
  stalls_.note_end();
  if (!std::exchange(has_backlog_, false) && measured == Measured::yes) observe_oldest(at);
  last_end_ = at;
  if (!oldest().is_part) launch_end_ = at;
  forget_oldest();
}

void CommandsInFlight::observe_oldest(Ns end) {
  const Ns began = oldest().since != 0 ? std::max(oldest().since, launch_end_) : oldest_began();
  const Ns took = end - began - oldest().before;
  if (oldest().count == 0 || took <= 0) return;
  const bool tells = oldest().count == 1 && took >= kTelling.count();
  costs_.observe(oldest().key, tells ? oldest().fineness : 0, base::Nanoseconds(took / oldest().count));
}

void CommandsInFlight::end_unmarked(Ns at, bool is_seen) {
  const Unmarked ended = std::exchange(unmarked_, {});
  last_end_ = launch_end_ = at;
  if (!is_seen || std::exchange(has_backlog_, false) || !ended.is_alone || ended.count != 1) return;
  const base::Nanoseconds took(at - ended.since);
  costs_.observe(ended.key, took >= kTelling ? 1 : 0, took);
}

bool CommandsInFlight::stall(Ns at) {
  forget_all();
  return stalls_.add(at, has_backlog_);
}

void CommandsInFlight::forget_oldest() {
  release_later(std::move(flight_.front().event));
  flight_.pop_front();
}

void CommandsInFlight::forget_all() {
  while (!flight_.empty()) forget_oldest();
  unmarked_ = {};
}

void CommandsInFlight::release_later(launch::Event event) noexcept {
  try {
    unreleased_.push_back(std::move(event));
  } catch (...) {  // out of memory: never released
    static_cast<void>(event.release());
  }
}

void CommandsInFlight::reset_in_child() noexcept {
  for (InFlight& each : flight_) static_cast<void>(each.event.release());
  for (launch::Event& each : unreleased_) static_cast<void>(each.release());
  flight_.clear();
  unreleased_.clear();
  unmarked_ = {};
  last_end_ = launch_end_ = 0;
  has_backlog_ = false;
  stalls_ = {};
}

}  // namespace cleave::interpose
