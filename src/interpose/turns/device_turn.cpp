#include "interpose/turns/device_turn.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/scoped_thread_state.h"
#include "interpose/broker/participation.h"

namespace cleave::interpose {
namespace {

using turns::Ns;

// Two in flight: others wait for these when they begin to ask, and with less the device would be idle between two. Longer ones
// cost less processor time, and the device less.
constexpr Pace kAmongJobs{16 * kTurnSlice, 2, 4 * kTurnSlice, 16 * kTurnSlice};
constexpr Pace kBesideBrief{2 * kTurnSlice, 2, 4 * kTurnSlice, 4 * kTurnSlice, 4 * kTurnSlice};
constexpr Pace kBesideHigher{kTurnSlice, 2, 2 * kTurnSlice, 2 * kTurnSlice, 4 * kTurnSlice};
// Of launches with too few slices for them to tell what it takes, one in so many is measured as a whole.
constexpr unsigned kMeasuredWhole = 16;

// How long it takes at most until the next process is awake and has enqueued something. So much before its last command ends,
// the device is given away.
constexpr Ns kHandover = 200'000;

// The end of a longer command is not predicted.
constexpr Ns kShort = 2'000'000;

// How long before the expected end of what is on the device a process that gives it away looks at it.
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

}  // namespace

DeviceTurn::DeviceTurn(const Table& next, base::Clock& clock, learn::CostTable& durations,
                       limits::LiveLimits& live, const turns::Options& options, Tracer* trace,
                       std::string name)
    : next_(next),
      clock_(clock),
      durations_(durations),
      live_(live),
      turns_(make_turns(forks_, options)),
      file_(turns::SharedFile::name_for(options.identity)),
      log_(trace, std::move(name), file_) {
  unreleased_.reserve(64);
  forks_.add<&DeviceTurn::reset_in_child>(base::ForkOrder::device_turn, mutex_, *this);
}

DeviceTurn::~DeviceTurn() {
  leave();
  std::unique_ptr<std::thread> keeper;
  {
    const base::MutexLock lock(mutex_);
    keeper_wakes_.notify_all();
    keeper = std::move(keeper_);
  }
  if (keeper) keeper->join();
  log_.gave_away(clock_.now(), "the process ends");
  log_.write(log_.take_span());
}

// The parent's commands are not this process's, and its keeper does not run here.
void DeviceTurn::reset_in_child() noexcept {
  for (InFlight& each : flight_) static_cast<void>(each.event.release());
  for (launch::Event& each : unreleased_) static_cast<void>(each.release());
  unreleased_.clear();
  flight_.clear();
  unmarked_ = {};
  static_cast<void>(keeper_.release());
  // The parent's threads waited on them.
  new (&changed_) base::CondVar;
  new (&keeper_wakes_) base::CondVar;
  changing_ = false;
  inside_ = 0;
  important_ = 0;
  quartered_ = false;
  last_end_ = launch_end_ = idle_since_ = unused_since_ = 0;
  stalls_ = 0;
  stalled_at_ = 0;
  gave_up_ = false;
  has_backlog_ = false;
  backlog_stalls_ = 0;
  problem_.clear();
  log_.reset();
  holds_ = false;
  part_ = Part::none_yet;
}

bool DeviceTurn::enter(std::string& problem) noexcept {
  if (part_ == Part::impossible) return false;
  if (part_ == Part::joined) return true;
  Part before = Part::none_yet;  // unless the process exits meanwhile
  part_.compare_exchange_strong(before, turns_->enter(problem) ? Part::joined : Part::impossible);
  const base::MutexLock lock(mutex_);
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
    base::log_line("no turns any more with other processes on " + log_.device() + ": " + problem +
                   " (CLEAVE_TURNS=off does without)");
  }
  note_problem(problem);
} catch (...) {  // out of memory: it is not said
}

void DeviceTurn::leave() noexcept {
  stopped_ = true;  // the keeper does not call the driver any more, which may be ending, too
  if (part_.exchange(Part::impossible) != Part::joined) return;
  turns_->leave_at_exit();
  if (!mutex_.try_lock()) return;
  base::MutexLock lock(mutex_, std::adopt_lock);
  log_.gave_away(clock_.now(), "the process ends");
  const auto span = log_.take_span();
  lock.unlock();
  log_.write(span);
}

observe::TurnFigures DeviceTurn::report() {
  observe::TurnFigures report;
  report.device = log_.device();
  report.file = file_;
  const TurnFigures figures = log_.figures(clock_.now());
  report.launches = figures.launches;
  report.turns = figures.turns;
  report.waited = figures.waited;
  report.longest_wait = figures.longest_wait;
  report.held = figures.held;
  report.stalls = figures.stalls;
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
  if (part != Part::impossible || !mutex_.try_lock()) return report;
  const base::MutexLock lock(mutex_, std::adopt_lock);
  report.problem = problem_;
  return report;
}

Ns DeviceTurn::now() const { return clock_.now().count(); }

// Calls change(), which waits for the device, without the lock. Other threads wait until that is over.
template <typename Change>
bool DeviceTurn::change_holder(Change change) {
  changing_ = true;
  mutex_.unlock();
  const base::Nanoseconds asked = clock_.now();
  const std::uint64_t waits = turns_->waits();
  const bool holds = change();
  log_.answered({.asked = asked,
                 .now = clock_.now(),
                 .waited = turns_->waits() != waits,
                 .holds = holds,
                 .joined = holds || turns_->has_joined()});
  mutex_.lock();
  changing_ = false;
  holds_ = holds;
  // What may be left of the turn before has all but ended.
  unused_since_ = holds ? now() - turns_->grant_delay() : 0;
  ++number_;
  if (!holds) {
    if (!turns_->has_joined()) lose_turns();
    forget_all();
  }
  changed_.notify_all();
  return holds;
}

Pace DeviceTurn::pace() const noexcept {
  switch (turns_->haste_of_others()) {
    case turns::Haste::higher_class:
      return kBesideHigher;
    case turns::Haste::brief:
      return kBesideBrief;
    case turns::Haste::none:
      break;
  }
  return kAmongJobs;
}

bool DeviceTurn::goes_whole(base::Nanoseconds expected, std::size_t slices) noexcept {
  const bool is_unknown = expected.count() <= 0;
  if (!is_unknown && expected <= pace().command) return true;
  if (slices >= kMeasuredByCommands) return false;
  if (is_unknown) return true;
  // Mixed, so that it is not the same kernel each time where several take turns.
  const std::uint32_t mixed = unmeasured_.fetch_add(1, std::memory_order_relaxed) * 2654435761U;
  return (mixed >> 16U) % kMeasuredWhole == 0;
}

// A launch of whole weight counts from when it begins to wait, for the others' sake that wait with it.
bool DeviceTurn::begin(LaunchWeight weight) noexcept try {
  base::MutexLock lock(mutex_);
  if (idle_since_ != 0) grace_.observe_gap(now() - std::exchange(idle_since_, 0));
  if (weight == LaunchWeight::whole) ++important_;
  quartered_ = important_ == 0;
  if (std::exchange(periods_, turns_->periods()) != turns_->periods()) has_backlog_ = true;
  apply_limits();
  const bool holds = acquire(lock);
  if (!holds && weight == LaunchWeight::whole && important_ > 0) --important_;
  if (holds && inside_++ == 0) inside_since_ = now();
  return holds;
} catch (...) {
  return false;
}

void DeviceTurn::apply_limits() {
  constexpr std::uint32_t kLess = 4;
  static_cast<void>(live_.poll());
  const std::uint32_t weight = live_.weight();
  const base::Cap cap = live_.cap();
  turns_->set_weight(weight, quartered_ ? kLess : 1);
  turns_->set_cap(static_cast<std::uint16_t>(cap.permille), cap.borrow);
}

void DeviceTurn::follow_limits() noexcept {
  const base::MutexLock lock(mutex_);
  apply_limits();
}

bool DeviceTurn::acquire(base::MutexLock& lock) {
  while (changing_) changed_.wait(lock);
  if (part_ != Part::joined) return false;
  if (holds_) return true;
  start_keeper();
  if (!change_holder([this] { return turns_->begin(); })) return false;
  keeper_wakes_.notify_one();
  return true;
}

void DeviceTurn::finish(LaunchWeight weight) noexcept {
  const base::MutexLock lock(mutex_);
  if (inside_ > 0) --inside_;
  if (weight == LaunchWeight::whole && important_ > 0) --important_;
  if (inside_ > 0) {
    quartered_ = important_ == 0;
    apply_limits();
  }
  if (inside_ == 0 && holds_) {
    if (is_empty()) note_idle();
    if (keeper_looks_at_ > now() + kMillisecond) keeper_wakes_.notify_one();
  }
  release_events();
}

// Others should have the device: waits until what is on it is about to end, gives it away, and waits until it comes back.
// Not if `abort` says so before.
bool DeviceTurn::pass_on(const std::atomic<int>* abort) {
  const auto is_aborted = [abort] { return abort != nullptr && abort->load(std::memory_order_relaxed) != 0; };
  changing_ = true;
  const auto is_about_to_end = [this] {
    mutex_.assert_held();
    return flight_.empty() ||
           (flight_.size() == 1 && flight_.front().expected > 0 && flight_.front().expected < kShort);
  };
  while (!is_about_to_end() && !is_aborted()) static_cast<void>(wait_for_oldest(kEarlyAtTheEnd, abort));
  if (is_aborted()) {
    changing_ = false;
    changed_.notify_all();
    return false;
  }
  Ns end = unmarked_.count != 0 ? unmarked_.since + unmarked_.expected : 0;
  if (!flight_.empty())
    end = std::max(end, std::max(flight_.front().enqueued, last_end_) + flight_.front().expected);
  // Before a pause for its own cap there is nobody who could begin meanwhile.
  const Ns left = std::min(end - (turns_->pauses() ? 0 : kHandover) - now(), kShort);
  if (left > 0) {
    mutex_.unlock();
    sleep_for(left);
    mutex_.lock();
  }
  if (unmarked_.count != 0) unmarked_ended(false);
  return change_holder([this, abort] { return turns_->yield(abort); });
}

void DeviceTurn::sleep_for(Ns time) const {
  const base::ScopedPreciseSleep undisturbed;
  clock_.sleep_for(base::Nanoseconds(time));
}

void DeviceTurn::give_back() {
  holds_ = false;
  note_use();
  turns_->end();
  log_.gave_away(clock_.now(), "nothing to do");
}

void DeviceTurn::settle(cl_command_queue queue) noexcept try {
  if (!holds_.load(std::memory_order_relaxed)) return;
  const base::ScopedCancelDisable uncancelled;
  const base::MutexLock lock(mutex_);
  if (changing_) return;
  if (queue != nullptr && unmarked_.count != 0 && unmarked_.queue == queue) unmarked_ended(true);
  collect();
  if (holds_ && inside_ == 0 && idle_since_ == 0 && is_empty()) note_idle();
  release_events();
} catch (...) {  // the keeper will find out
}

void DeviceTurn::note_idle() {
  idle_since_ = now();
  if (unused_since_ == 0) unused_since_ = idle_since_;
  if (grace_.grace() == 0) give_back();
}

// Or its turn ends.
void DeviceTurn::note_use() {
  if (const Ns since = std::exchange(unused_since_, 0); since != 0) turns_->credit(now() - since);
}

void DeviceTurn::start_keeper() {
  if (keeper_) return;
  const base::ScopedSignalBlock blocked;
  try {
    keeper_ = std::make_unique<std::thread>([this] { keep(); });
  } catch (...) {  // then only the program's waits and launches end its turns, or their leases do
  }
}

void DeviceTurn::keep() noexcept {
  const base::ScopedPreciseSleep undisturbed;
  base::MutexLock lock(mutex_);
  while (!stopped_) {
    const Ns pause = holds_ ? std::max(look_after(), kShortestSleep) : 0;
    if (stopped_) return;
    release_events();
    if (stopped_) return;  // said so meanwhile, when nobody waited for it
    keeper_looks_at_ = now() + pause;
    if (live_.may_change()) apply_limits();
    if (holds_ || live_.may_change()) {
      keeper_wakes_.wait_for(lock, base::Nanoseconds(holds_ ? pause : kLimitsFollowed));
    } else {
      keeper_wakes_.wait(lock);
    }
  }
}

// Ends the turn when nothing is left on the device. Returns when to look again.
Ns DeviceTurn::look_after() {
  if (inside_ > 0 || changing_) {
    if (holds_) static_cast<void>(turns_->should_yield());  // a sign of life
    // A short launch may be over soon, and the device idle.
    return std::clamp(now() - inside_since_, kWhileIdle, kWhileFed);
  }
  collect();
  if (inside_ > 0 || changing_ || !holds_) return kWhileIdle;
  const Ns at = now();
  if (unmarked_.count != 0 && at - unmarked_.since > kTimesGuessed * unmarked_.expected + kGuessMargin)
    unmarked_ended(false);
  if (!flight_.empty()) {
    const InFlight& oldest = flight_.front();
    const Ns age = at - std::max(oldest.enqueued, last_end_);
    static_cast<void>(turns_->should_yield());  // a sign of life
    if (age <= kKeepersPatience + kTimesExpected * oldest.expected)
      return std::min(std::max(oldest.expected - age, age / kShareOfWait), kMillisecond);
    forget_oldest();
    return 0;
  }
  if (unmarked_.count != 0) return kWhileIdle;
  if (idle_since_ == 0) note_idle();
  if (!holds_) return 0;
  const Ns left = idle_since_ + grace_.grace() - at;
  if (left <= 0 || turns_->should_yield()) return give_back(), 0;
  return std::min(left, kWhileIdle);
}

}  // namespace cleave::interpose
