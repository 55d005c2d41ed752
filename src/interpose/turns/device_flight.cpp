// The part of DeviceTurn that knows what of this process is on the device: room for more, and the ends of commands.

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/scoped_thread_state.h"
#include "interpose/policies/cost_keys.h"
#include "interpose/turns/device_turn.h"

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

// How often others are asked after.
constexpr Ns kAskAgain = 50'000;

// How much longer than expected a command may take before it no longer counts as ours, while the program waits for that: it may
// depend on the program.
constexpr Ns kPatience = 100'000'000;
constexpr Ns kLongestAllowance = 1'000'000'000;

// After so many commands that did not end in time, none of them much later than the one before, the program is not held back any
// more. Where a machine is too busy now and then, it is.
constexpr unsigned kMaxStalls = 3;
constexpr unsigned kMaxBacklogStalls = 32;  // in a row, while a backlog may be the cause
constexpr Ns kStallsForgotten = 60'000'000'000;

// How long before its expected end a command is first looked at: as a rule, and at most where short launches follow each other, since
// sleeps end about so late.
constexpr Ns kEarly = 0;
constexpr Ns kEarlyLaunch = 100'000;
// By which part of it an estimate becomes less that has turned out to be too long.
constexpr int kLess = 8;

Ns or_unknown(Ns expected) { return expected > 0 ? expected : kUnknown; }

Ns allowance(Ns expected, int times) {
  return std::clamp<Ns>(expected, 0, kLongestAllowance / times) * times;
}

}  // namespace

// Releasing an event may call the program back, which may call us: never with the mutex, and not while this thread changes the
// holder. Until then events are kept here.
void DeviceTurn::release_later(launch::Event event) noexcept {
  try {
    unreleased_.push_back(std::move(event));
  } catch (...) {  // out of memory: never released
    static_cast<void>(event.release());
  }
}

void DeviceTurn::release_events() {
  if (unreleased_.empty() && !log_.has_span()) return;
  std::vector<launch::Event> dying;
  dying.swap(unreleased_);
  const auto span = log_.take_span();
  mutex_.unlock();
  dying.clear();
  log_.write(span);
  mutex_.lock();
}

void DeviceTurn::forget_oldest() {
  release_later(std::move(flight_.front().event));
  flight_.pop_front();
}

void DeviceTurn::forget_all() {
  while (!flight_.empty()) forget_oldest();
  unmarked_ = {};
}

launch::WaitResult DeviceTurn::make_room(Room room, base::Nanoseconds expected,
                                         const std::atomic<int>* abort) noexcept try {
  base::MutexLock lock(mutex_);
  const launch::WaitResult result = wait_for_room(lock, room, expected.count(), abort);
  if (holds_) note_use();  // the driver is called now, and may execute the command in the call
  release_events();
  return result;
} catch (...) {
  return launch::WaitResult::aborted;
}

launch::WaitResult DeviceTurn::wait_for_room(base::MutexLock& lock, Room room, Ns expected,
                                             const std::atomic<int>* abort) {
  using launch::WaitResult;
  const auto is_aborted = [abort] { return abort != nullptr && abort->load(std::memory_order_relaxed) != 0; };
  for (;;) {
    // Another thread of the program waits for the device, perhaps for longer than this one may.
    while (changing_ && !is_aborted()) changed_.wait_for(lock, base::Nanoseconds(kMillisecond));
    if (changing_ || !holds_) return WaitResult::aborted;
    const Pace pace = this->pace();
    const Ns window = (room == Room::for_launch ? pace.launches : pace.window).count();
    const bool is_short = flight_.size() < kMostInFlight && work_in_flight() + or_unknown(expected) <= window;
    if (is_short) break;
    const bool is_coarse = expected > pace.longest_ahead.count();
    if (flight_.size() < (is_coarse ? 1 : pace.in_flight)) break;
    const Ns early = room == Room::for_launch ? std::min(kEarlyLaunch, flight_.front().expected / 4) : kEarly;
    const WaitResult how = wait_for_oldest(early, abort);
    if (how != WaitResult::complete) return how;
  }
  if (is_aborted()) return WaitResult::aborted;
  const Ns at = now();
  if (at - asked_at_ < kAskAgain) return WaitResult::complete;
  asked_at_ = at;
  return !turns_->should_yield() || pass_on(abort) ? WaitResult::complete : WaitResult::aborted;
}

Ns DeviceTurn::work_in_flight() const {
  Ns sum = unmarked_.expected;
  for (const InFlight& each : flight_) sum += or_unknown(each.expected);
  return sum;
}

bool DeviceTurn::wants_event(const TurnCommand& next) noexcept {
  const base::MutexLock lock(mutex_);
  if (next.expected.count() <= 0) return true;
  if (unmarked_.count != 0 && unmarked_.queue != next.queue) return true;
  if (unmarked_.count + 1 >= kMostUnmarkedCommands) return true;
  return unmarked_.expected + next.expected.count() > std::min(kMostUnmarked, pace().launches.count() / 2);
}

void DeviceTurn::enqueued(const TurnCommand& command) noexcept try {
  const bool retained = command.event != nullptr && next_.clRetainEvent(command.event) == CL_SUCCESS;
  launch::Event event(next_, retained ? command.event : nullptr);
  const base::MutexLock lock(mutex_);
  if (!holds_) return;
  note_use();
  const Ns at = now();
  const Ns since = command.since.count();
  const bool same_queue = unmarked_.count != 0 && unmarked_.queue == command.queue;
  if (retained) {
    const Unmarked before = same_queue ? std::exchange(unmarked_, {}) : Unmarked{};
    // Where nothing is known of the command, a guess is better than nothing.
    const bool is_known = command.expected.count() > 0;
    const bool are_alike = before.count == 0 || (before.key == command.key && since == 0);
    const unsigned of_a_kind = are_alike ? before.count + 1 : 0;
    // Of a launch in slices it must be known when the one before has ended, and two at a time cannot be told apart.
    if (before.count != 0) unmarked_before_ = at;
    const bool is_alone = since == 0 || (inside_ <= 1 && unmarked_before_ < since);
    // Commands that are measured together begin with the first of them.
    flight_.push_back(InFlight{.event = std::move(event),
                               .queue = command.queue,
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
  if (unmarked_.count == 0) {
    unmarked_.since = since != 0 ? since : at;
    unmarked_.is_alone = since != 0 || flight_.empty();
  }
  const bool is_first = unmarked_.count == 0;
  unmarked_.queue = is_first || same_queue ? command.queue : nullptr;
  unmarked_.key = is_first || (unmarked_.key == command.key && since == 0) ? command.key : 0;
  unmarked_.expected += or_unknown(command.expected.count());
  ++unmarked_.count;
} catch (...) {  // out of memory: not counted
}

bool DeviceTurn::has_ended(cl_event event) const noexcept {
  cl_int status = CL_COMPLETE;
  return next_.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) !=
             CL_SUCCESS ||
         status <= CL_COMPLETE;
}

DeviceTurn::Awaited DeviceTurn::await(cl_event event, Ns expected_end, Ns early,
                                      const std::atomic<int>* abort) const {
  using launch::WaitResult;
  const Ns start = now();
  const Ns until = start + kPatience + allowance(expected_end - start, kTimesExpected);
  const base::ScopedPreciseSleep undisturbed;
  Ns running_at = 0;
  for (Ns at = start;; running_at = std::exchange(at, now())) {
    if (has_ended(event)) return {WaitResult::complete, running_at};
    if (abort != nullptr && abort->load(std::memory_order_relaxed) != 0) return {WaitResult::aborted};
    if (at > until) return {WaitResult::stalled};
    const Ns late = at - std::max(start, std::min(expected_end, at));
    const Ns usual = std::clamp(late / kShareOfWait, kShortestSleep, kMillisecond);
    clock_.sleep_for(base::Nanoseconds(std::max(usual, std::min(expected_end - early - at, kMillisecond))));
  }
}

launch::WaitResult DeviceTurn::wait_for_oldest(Ns early, const std::atomic<int>* abort) {
  const InFlight& oldest = flight_.front();
  const cl_event handle = oldest.event.get();
  const Ns began = std::max(oldest.enqueued, last_end_);
  const Ns expected_end = began + oldest.expected;
  if (next_.clRetainEvent(handle) != CL_SUCCESS) return forget_oldest(), launch::WaitResult::aborted;
  launch::Event event(next_, handle);
  const cl_event newest = flight_.back().event.get();
  const bool others = newest != handle && next_.clRetainEvent(newest) == CL_SUCCESS;
  launch::Event last(next_, others ? newest : nullptr);
  mutex_.unlock();
  const Awaited awaited = await(handle, expected_end, early, abort);
  const launch::WaitResult how = awaited.how;
  const bool is_dry = others && has_ended(newest);
  if (is_dry) ran_dry_ = true;
  mutex_.lock();
  release_later(std::move(last));
  const bool is_there = !flight_.empty() && flight_.front().event.get() == handle;
  release_later(std::move(event));
  if (how == launch::WaitResult::complete && is_there) {
    note_end(awaited.running_at, is_dry);
    if (is_dry) collect(Measured::no);
  }
  if (how == launch::WaitResult::stalled) {
    forget_all();
    log_.count_stall();
    const Ns at = now();
    // It has waited for the backlog's end, perhaps: a command that never ends must not be waited for again and again.
    if (has_backlog_ && ++backlog_stalls_ <= kMaxBacklogStalls) return how;
    if (at - std::exchange(stalled_at_, at) > kStallsForgotten) stalls_ = 0;
    if (++stalls_ >= kMaxStalls) gave_up_ = true;
  }
  return how;
}

// The oldest command has ended, and was last seen to run at `running_at` (0: never); if `is_dry`, the newest has, too.
void DeviceTurn::note_end(Ns running_at, bool is_dry) {
  InFlight& oldest = flight_.front();
  const Ns at = now();
  if (oldest.expected <= oldest.before) return oldest_ended(at);  // unknown: better too long than nothing
  const auto add = [](Ns sum, const InFlight& each) { return sum + each.expected; };
  const Ns expected = is_dry ? std::accumulate(flight_.begin(), flight_.end(), Ns{0}, add) : oldest.expected;
  // Where nobody has looked until long after it, the end says nothing.
  if (running_at == 0 && at > std::max(oldest.enqueued, last_end_) + expected) {
    oldest.key = 0;
    return oldest_ended(at);
  }
  oldest_ended(likely_end(running_at, at));
}

// When the oldest command has ended. Where it had when it was first looked at, it perhaps takes less than expected; were the end when it was seen,
// each would make the next one seem to begin later.
Ns DeviceTurn::likely_end(Ns running_at, Ns at) const {
  const InFlight& oldest = flight_.front();
  const Ns sooner = std::max(oldest.enqueued, last_end_) + oldest.expected - oldest.expected / kLess;
  if (running_at < sooner) return std::min(sooner, at);
  return at - running_at > kEarlyLaunch ? at : running_at + (at - running_at) / 2;
}

// `end`: when, as far as that is known.
void DeviceTurn::oldest_ended(Ns end) {
  const InFlight& oldest = flight_.front();
  backlog_stalls_ = 0;
  const Ns began =
      oldest.since != 0 ? std::max(oldest.since, launch_end_) : std::max(oldest.enqueued, last_end_);
  if (!std::exchange(has_backlog_, false))
    observe(oldest.key, oldest.count, oldest.fineness, end - began - oldest.before);
  last_end_ = end;
  if (!oldest.is_part) launch_end_ = end;
  forget_oldest();
}

void DeviceTurn::observe(learn::Key key, unsigned count, std::size_t fineness, Ns took) const noexcept try {
  if (key == 0 || count == 0 || took <= 0) return;
  durations_.observe(key, 1, base::Nanoseconds(took / count));
  if (count == 1 && fineness != 0 && took >= kTelling.count())
    durations_.observe(fineness_key(key), fineness, base::Nanoseconds(took));
} catch (...) {  // out of memory: not learnt
}

// `seen`: the program has just waited for them.
void DeviceTurn::unmarked_ended(bool seen) {
  const Unmarked ended = std::exchange(unmarked_, {});
  last_end_ = launch_end_ = now();
  const bool is_undisturbed = !seen || !std::exchange(has_backlog_, false);
  if (seen && is_undisturbed && ended.is_alone && ended.count == 1)
    observe(ended.key, 1, 1, last_end_ - ended.since);
}

// Removes what has ended from the front. It is not measured where it may have ended long ago.
void DeviceTurn::collect(Measured measured) {
  while (!flight_.empty()) {
    const cl_event handle = flight_.front().event.get();
    if (next_.clRetainEvent(handle) != CL_SUCCESS) return forget_oldest();
    launch::Event event(next_, handle);
    mutex_.unlock();
    const bool ended = has_ended(handle);
    mutex_.lock();
    const bool is_there = !flight_.empty() && flight_.front().event.get() == handle;
    release_later(std::move(event));
    if (!ended || !is_there) return;
    if (measured == Measured::no) flight_.front().key = 0;
    oldest_ended(now());
  }
}

}  // namespace cleave::interpose
