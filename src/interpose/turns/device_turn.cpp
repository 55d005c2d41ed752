#include "interpose/turns/device_turn.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/threads/scoped_thread_state.h"
#include "interpose/broker/participation.h"
#include "interpose/turns/command_wait.h"

namespace cleave::interpose {
namespace {

using turns::Ns;

// How long it takes at most until the next process is awake and has enqueued something. The device is passed on this
// long before the last command ends.
constexpr Ns kHandover = 200'000;

// The end of a longer command is not predicted.
constexpr Ns kShort = 2'000'000;

// How long before the expected end of its commands the device is checked: by a process that waits for room, and by one
// that passes the device on.
constexpr Ns kEarly = 0;
constexpr Ns kEarlyAtTheEnd = 160'000;

// The keeper's.
constexpr Ns kKeepersPatience = 1'000'000'000;
constexpr Ns kWhileFed = 10'000'000;
constexpr Ns kWhileIdle = 100'000;
constexpr Ns kLimitsFollowed = 250'000'000;

// A command without an event counts as ended when it has taken so much longer than expected. The first one of a turn takes
// longer, since the device changes from one process to the other.
constexpr int kTimesGuessed = 2;
constexpr Ns kGuessMargin = 500'000;

bool is_set(const std::atomic<int>* abort) {
  return abort != nullptr && abort->load(std::memory_order_relaxed) != 0;
}

}  // namespace

DeviceTurn::DeviceTurn(const Table& next, base::Clock& clock, TurnCosts& costs, limits::LiveLimits& live,
                       const turns::Options& options, Tracer* trace, std::string name)
    : next_(next),
      clock_(clock),
      live_(live),
      turns_(make_turns(forks_, options)),
      holder_(clock, *turns_, trace, std::move(name), turns::SharedFile::name_for(options.identity)),
      flight_(costs) {
  forks_.add<&DeviceTurn::reset_in_child>(base::ForkOrder::device_turn, holder_.mutex, *this);
}

DeviceTurn::~DeviceTurn() {
  leave();
  std::unique_ptr<std::thread> keeper;
  {
    const base::MutexLock lock(holder_.mutex);
    keeper = keeper_.take_thread();
  }
  if (keeper) keeper->join();
  log().gave_away(clock_.now(), "the process ends");
  log().write(log().take_span());
}

// The parent's commands and launches are not this process's.
void DeviceTurn::reset_in_child() noexcept {
  flight_.reset_in_child();
  keeper_.reset_in_child();
  holder_.reset_in_child();
  launches_ = {};
  gave_up_ = false;
  problem_.clear();
  part_ = Part::none_yet;
}

bool DeviceTurn::enter(std::string& problem) noexcept {
  if (part_ == Part::impossible) return false;
  if (part_ == Part::joined) return true;
  Part before = Part::none_yet;  // unless the process exits meanwhile
  part_.compare_exchange_strong(before, turns_->enter(problem) ? Part::joined : Part::impossible);
  const base::MutexLock lock(holder_.mutex);
  periods_ = turns_->periods();
  if (part_ == Part::joined) return true;
  note_problem(problem);
  return false;
}

void DeviceTurn::note_problem(const std::string& problem) noexcept try {
  problem_ = problem;
} catch (...) {  // out of memory: the report lacks it
}

// The process goes on without.
void DeviceTurn::lose_turns() noexcept try {
  const std::string problem = turns_->problem();
  if (part_.exchange(Part::impossible) == Part::joined && !problem.empty()) {
    base::log_line("no turns any more with other processes on " + log().device() + ": " + problem +
                   " (CLEAVE_TURNS=off does without)");
  }
  note_problem(problem);
} catch (...) {  // out of memory: it is not said
}

void DeviceTurn::leave() noexcept {
  keeper_.stop();  // it does not call the driver any more, which may be ending, too
  if (part_.exchange(Part::impossible) != Part::joined) return;
  turns_->leave_at_exit();
  if (!holder_.mutex.try_lock()) return;
  base::MutexLock lock(holder_.mutex, std::adopt_lock);
  log().gave_away(clock_.now(), "the process ends");
  const auto span = log().take_span();
  lock.unlock();
  log().write(span);
}

observe::TurnFigures DeviceTurn::report() {
  observe::TurnFigures report = log().figures(clock_.now());
  const Part part = part_;
  report.state = gave_up_                   ? "given up"
                 : part == Part::none_yet   ? "not joined"
                 : part == Part::impossible ? "impossible"
                                            : "joined";
  if (gave_up_) report.problem = "commands did not end in time";
  const turns::WaitCauses causes = turns_->wait_causes();
  report.capped = base::Nanoseconds(causes.capped);
  for (const turns::WaitCause& cause : causes.others)
    report.waited_for.push_back({cause.tenant, cause.pid, base::Nanoseconds(cause.waited)});
  if (part != Part::impossible || !holder_.mutex.try_lock()) return report;
  const base::MutexLock lock(holder_.mutex, std::adopt_lock);
  report.problem = problem_;
  return report;
}

bool DeviceTurn::begin(LaunchWeight weight) noexcept try {
  base::MutexLock lock(holder_.mutex);
  holder_.note_launch();
  launches_.wait(weight);
  if (std::exchange(periods_, turns_->periods()) != turns_->periods()) flight_.expect_backlog();
  apply_limits();
  const bool holds = acquire(lock);
  if (holds) {
    launches_.begin(holder_.now());
  } else {
    launches_.give_up(weight);
  }
  return holds;
} catch (...) {
  return false;
}

void DeviceTurn::apply_limits() {
  static_cast<void>(live_.poll());
  const base::Cap cap = live_.cap();
  turns_->set_weight(live_.weight(), launches_.weight_divisor());
  turns_->set_cap(static_cast<std::uint16_t>(cap.permille), cap.borrow);
}

void DeviceTurn::follow_limits() noexcept {
  const base::MutexLock lock(holder_.mutex);
  apply_limits();
}

bool DeviceTurn::acquire(base::MutexLock& lock) {
  while (holder_.is_changing()) holder_.wait_for_change(lock);
  if (part_ != Part::joined) return false;
  if (holder_.holds()) return true;
  keeper_.start([this] { keep(); });
  if (!change_holder([this] { return turns_->begin(); })) return false;
  keeper_.wake();
  return true;
}

template <typename Change>
bool DeviceTurn::change_holder(Change change) {
  const bool holds = holder_.change(std::move(change));
  if (holds) return true;
  if (!turns_->has_joined()) lose_turns();
  flight_.forget_all();
  return false;
}

void DeviceTurn::finish(LaunchWeight weight) noexcept {
  const base::MutexLock lock(holder_.mutex);
  launches_.end(weight);
  if (launches_.count() > 0) {
    apply_limits();
  } else if (holder_.holds()) {
    if (flight_.is_empty()) holder_.note_idle();
    keeper_.wake_within(holder_.now(), kMillisecond);
  }
  release_events();
}

launch::WaitResult DeviceTurn::make_room(Room room, base::Nanoseconds expected,
                                         const std::atomic<int>* abort) noexcept try {
  base::MutexLock lock(holder_.mutex);
  const launch::WaitResult result = wait_for_room(lock, room, expected.count(), abort);
  if (holder_.holds())
    holder_.note_use();  // the driver is called now, and may execute the command in the call
  release_events();
  return result;
} catch (...) {
  return launch::WaitResult::aborted;
}

launch::WaitResult DeviceTurn::wait_for_room(base::MutexLock& lock, Room room, Ns expected,
                                             const std::atomic<int>* abort) {
  using launch::WaitResult;
  for (;;) {
    // Another thread of the program waits for the device, perhaps for longer than this one may.
    while (holder_.is_changing() && !is_set(abort)) holder_.wait_for_change(lock, kMillisecond);
    if (holder_.is_changing() || !holder_.holds()) return WaitResult::aborted;
    if (flight_.has_room(room, expected, pace())) {
      if (is_set(abort) || !keeps_back(room, expected)) break;
      continue;
    }
    const Ns early =
        room == Room::for_launch ? std::min(kEarlyLaunch, flight_.oldest().expected / 4) : kEarly;
    const WaitResult how = wait_for_oldest(early, abort);
    if (how != WaitResult::complete) return how;
  }
  if (is_set(abort)) return WaitResult::aborted;
  return !holder_.is_wanted_back() || pass_on(abort) ? WaitResult::complete : WaitResult::aborted;
}

// Until commands before it are about to end, or have. False if it need not be; otherwise some time has passed.
bool DeviceTurn::keeps_back(Room room, Ns expected) {
  const Ns left = flight_.earliest(room, expected, pace()) - holder_.now();
  if (left <= 0) return false;
  holder_.mutex.unlock();
  {
    const base::ScopedPreciseSleep undisturbed;
    clock_.sleep_for(base::Nanoseconds(std::min(left, kMillisecond)));
  }
  holder_.mutex.lock();
  if (left > kMillisecond) return true;
  collect(CommandsInFlight::Measured::no);
  if (flight_.is_empty()) flight_.note_dry();
  return true;
}

// Others should have the device: waits until the commands on it are about to end, passes it on, and waits until it
// comes back. Not if `abort` is set before.
bool DeviceTurn::pass_on(const std::atomic<int>* abort) {
  holder_.begin_change();
  const auto is_about_to_end = [this] {
    holder_.mutex.assert_held();
    return flight_.size() == 0 ||
           (flight_.size() == 1 && flight_.oldest().expected > 0 && flight_.oldest().expected < kShort);
  };
  while (!is_about_to_end() && !is_set(abort)) static_cast<void>(wait_for_oldest(kEarlyAtTheEnd, abort));
  if (is_set(abort)) {
    holder_.end_change();
    return false;
  }
  // During a pause for its own cap no other participant could begin meanwhile.
  const Ns handover = turns_->pauses() ? 0 : kHandover;
  const Ns left = std::min(flight_.expected_end() - handover - holder_.now(), kShort);
  if (left > 0) {
    holder_.mutex.unlock();
    {
      const base::ScopedPreciseSleep undisturbed;
      clock_.sleep_for(base::Nanoseconds(left));
    }
    holder_.mutex.lock();
  }
  if (flight_.unmarked().count != 0) flight_.end_unmarked(holder_.now(), false);
  return change_holder([this, abort] { return turns_->yield(abort); });
}

launch::WaitResult DeviceTurn::wait_for_oldest(Ns early, const std::atomic<int>* abort) {
  using launch::WaitResult;
  const cl_event handle = flight_.oldest().event.get();
  const Ns expected_end = flight_.oldest_began() + flight_.oldest().expected;
  if (next_.clRetainEvent(handle) != CL_SUCCESS) return flight_.forget_oldest(), WaitResult::aborted;
  launch::Event event(next_, handle);
  const cl_event newest = flight_.newest_event();
  const bool others = newest != handle && next_.clRetainEvent(newest) == CL_SUCCESS;
  launch::Event last(next_, others ? newest : nullptr);
  holder_.mutex.unlock();
  const Awaited awaited = await_command(next_, clock_, handle, expected_end, early, abort);
  const bool is_dry = others && has_ended(next_, newest);
  holder_.mutex.lock();
  if (is_dry) flight_.note_dry();
  flight_.release_later(std::move(last));
  const bool is_there = flight_.is_oldest(handle);
  flight_.release_later(std::move(event));
  if (awaited.how == WaitResult::complete && is_there) {
    flight_.end_awaited(awaited.running_at, holder_.now(), is_dry);
    if (is_dry) collect(CommandsInFlight::Measured::no);
  }
  if (awaited.how == WaitResult::stalled) {
    log().count_stall();
    if (flight_.stall(holder_.now())) gave_up_ = true;
  }
  return awaited.how;
}

// Removes what has ended from the front. It is not measured where it may have ended long ago.
void DeviceTurn::collect(CommandsInFlight::Measured measured) {
  while (flight_.size() != 0) {
    const cl_event handle = flight_.oldest().event.get();
    if (next_.clRetainEvent(handle) != CL_SUCCESS) return flight_.forget_oldest();
    launch::Event event(next_, handle);
    holder_.mutex.unlock();
    const bool ended = has_ended(next_, handle);
    holder_.mutex.lock();
    const bool is_there = flight_.is_oldest(handle);
    flight_.release_later(std::move(event));
    if (!ended || !is_there) return;
    flight_.end_oldest(holder_.now(), measured);
  }
}

// Releasing an event may call the program back, which may call us: never with the mutex, and not while this thread changes the
// holder.
void DeviceTurn::release_events() {
  if (!flight_.has_unreleased() && !log().has_span()) return;
  auto dying = flight_.take_unreleased();
  const auto span = log().take_span();
  holder_.mutex.unlock();
  dying.clear();
  log().write(span);
  holder_.mutex.lock();
}

bool DeviceTurn::ran_dry() noexcept {
  const base::MutexLock lock(holder_.mutex);
  return flight_.take_dry();
}

bool DeviceTurn::wants_event(const TurnCommand& next) noexcept {
  const base::MutexLock lock(holder_.mutex);
  return flight_.wants_event(next, pace());
}

void DeviceTurn::enqueued(const TurnCommand& command) noexcept try {
  const bool retained = command.event != nullptr && next_.clRetainEvent(command.event) == CL_SUCCESS;
  launch::Event event(next_, retained ? command.event : nullptr);
  const base::MutexLock lock(holder_.mutex);
  if (!holder_.holds()) return;
  holder_.note_use();
  flight_.add(command, std::move(event), holder_.now(), launches_.count() > 1);
} catch (...) {  // out of memory: not counted
}

void DeviceTurn::settle(cl_command_queue queue) noexcept try {
  if (!held()) return;
  const base::ScopedCancelDisable uncancelled;
  const base::MutexLock lock(holder_.mutex);
  if (holder_.is_changing()) return;
  if (queue != nullptr && flight_.unmarked().count != 0 && flight_.unmarked().queue == queue)
    flight_.end_unmarked(holder_.now(), true);
  collect();
  if (held() && launches_.count() == 0 && !holder_.is_idle() && flight_.is_empty()) holder_.note_idle();
  release_events();
} catch (...) {  // the keeper will find out
}

void DeviceTurn::keep() noexcept {
  const base::ScopedPreciseSleep undisturbed;
  base::MutexLock lock(holder_.mutex);
  while (!keeper_.is_stopped()) {
    const Ns pause = held() ? std::max(look_after(), kShortestSleep) : 0;
    if (keeper_.is_stopped()) return;
    release_events();
    if (keeper_.is_stopped()) return;  // stopped meanwhile, while nothing waited here
    if (live_.may_change()) apply_limits();
    keeper_.wait(lock, holder_.now(), held() ? pause : live_.may_change() ? kLimitsFollowed : 0);
  }
}

// Ends the turn when nothing is left on the device. Returns when to look again.
Ns DeviceTurn::look_after() {
  if (launches_.count() > 0 || holder_.is_changing()) {
    if (held()) static_cast<void>(turns_->should_yield());  // a heartbeat
    // A short launch may be over soon, and the device idle.
    return std::clamp(holder_.now() - launches_.since(), kWhileIdle, kWhileFed);
  }
  collect();
  if (launches_.count() > 0 || holder_.is_changing() || !held()) return kWhileIdle;
  const Ns at = holder_.now();
  const CommandsInFlight::Unmarked& unmarked = flight_.unmarked();
  if (unmarked.count != 0 && at - unmarked.since > kTimesGuessed * unmarked.expected + kGuessMargin)
    flight_.end_unmarked(at, false);
  if (flight_.size() != 0) {
    const Ns age = at - flight_.oldest_began();
    const Ns expected = flight_.oldest().expected;
    static_cast<void>(turns_->should_yield());  // a heartbeat
    if (age <= kKeepersPatience + kTimesExpected * expected)
      return std::min(std::max(expected - age, age / kShareOfWait), kMillisecond);
    flight_.forget_oldest();
    return 0;
  }
  if (unmarked.count != 0) return kWhileIdle;
  return std::min(holder_.keep_idle(at), kWhileIdle);
}

}  // namespace cleave::interpose
