#include "interpose/turns/device_turn.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/scoped_thread_state.h"

namespace cleave::interpose {
namespace {

using turns::Ns;

// Of a command of which nothing is known.
constexpr Ns kUnknown = 125'000;

// Two in flight: others wait for these when they begin to ask, and with less the device would be idle between two. Longer ones
// cost less processor time, and the device less.
constexpr Pace kAmongJobs{16 * kTurnSlice, 2, 4 * kTurnSlice};
constexpr Pace kBesideBrief{2 * kTurnSlice, 2, 4 * kTurnSlice};
constexpr Pace kBesideHigher{kTurnSlice, 2, 2 * kTurnSlice};
// NVIDIA's driver lets a process that has something queued go on for 2 ms before it looks at others, but not one on which nothing
// else is queued.
constexpr Pace kBesideOutsiders{10 * kTurnSlice, 1, base::Nanoseconds(0)};
// Whole commands of so much device time need no event if the program wants none.
constexpr Ns kMostUnmarked = 250'000;
constexpr Ns kMicrosecond = 1'000;
constexpr Ns kMillisecond = 1'000'000;

// How long it takes at most until the next process is awake and has enqueued something. So much before its last command ends,
// the device is given away.
constexpr Ns kHandover = 200 * kMicrosecond;

// The end of a longer command is not predicted.
constexpr Ns kShort = 2 * kMillisecond;

// How often others are asked after.
constexpr Ns kAskAgain = 50 * kMicrosecond;

// How much longer than expected a command may take before it no longer counts as ours: while the program waits for that, and
// otherwise. It may depend on the program.
constexpr Ns kPatience = 100 * kMillisecond;
constexpr Ns kKeepersPatience = 1'000 * kMillisecond;
constexpr int kTimesExpected = 4;
constexpr Ns kLongestAllowance = 1'000 * kMillisecond;

// After so many commands that did not end in time the program is not held back any more.
constexpr unsigned kMaxStalls = 3;

// How long before its expected end a command is first looked at, and how often then.
constexpr Ns kEarly = 0;
constexpr Ns kEarlyAtTheEnd = 160 * kMicrosecond;
constexpr Ns kEarlyAlone = 100 * kMicrosecond;
constexpr Ns kShortestSleep = 15 * kMicrosecond;
constexpr int kShareOfWait = 12;

// The keeper's.
constexpr Ns kWhileFed = 10 * kMillisecond;
constexpr Ns kWhileIdle = 100 * kMicrosecond;

// A command without an event counts as ended when it has taken so much longer than expected. The first one of a turn takes
// longer, since the device changes from one process to the other.
constexpr int kTimesGuessed = 2;
constexpr Ns kGuessMargin = 500 * kMicrosecond;

Ns or_unknown(Ns expected) { return expected > 0 ? expected : kUnknown; }

Ns allowance(Ns expected) {
  return std::clamp<Ns>(expected, 0, kLongestAllowance / kTimesExpected) * kTimesExpected;
}

}  // namespace

DeviceTurn::DeviceTurn(const Table& next, base::Clock& clock, learn::CostTable& durations,
                       const turns::Options& options, Tracer* trace, std::string name, std::string address)
    : next_(next),
      clock_(clock),
      durations_(durations),
      turns_(forks_, options),
      outsiders_(std::move(address)),
      file_(turns::SharedFile::name_for(options.identity)),
      log_(trace, std::move(name)) {
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
  last_end_ = idle_since_ = 0;
  stalls_ = 0;
  gave_up_ = false;
  problem_.clear();
  outsiders_.reset_in_child();
  log_.reset();
  holds_ = false;
  part_ = Part::none_yet;
}

bool DeviceTurn::enter(std::string& problem) noexcept {
  if (part_ == Part::impossible) return false;
  if (part_ == Part::joined) return true;
  Part before = Part::none_yet;  // unless the process exits meanwhile
  part_.compare_exchange_strong(before, turns_.enter(problem) ? Part::joined : Part::impossible);
  if (part_ == Part::joined) return true;
  const base::MutexLock lock(mutex_);
  note_problem(problem);
  return false;
}

void DeviceTurn::note_problem(const std::string& problem) noexcept try {
  problem_ = problem;
} catch (...) {  // out of memory: the report lacks it
}

void DeviceTurn::leave() noexcept {
  stopped_ = true;  // the keeper does not call the driver any more, which may be ending, too
  outsiders_.stop();
  if (part_.exchange(Part::impossible) != Part::joined) return;
  turns_.leave_at_exit();
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
  report.outsiders = outsiders_.found();
  const Part part = part_;
  report.state = gave_up_                   ? "given up"
                 : part == Part::none_yet   ? "not joined"
                 : part == Part::impossible ? "impossible"
                                            : "joined";
  if (gave_up_) report.problem = "commands did not end in time";
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
  const std::uint64_t waits = turns_.waits();
  const bool holds = change();
  log_.answered({.asked = asked,
                 .now = clock_.now(),
                 .waited = turns_.waits() != waits,
                 .holds = holds,
                 .joined = holds || turns_.has_joined()});
  mutex_.lock();
  changing_ = false;
  holds_ = holds;
  ++number_;
  if (!holds) {
    if (!turns_.has_joined()) {
      part_ = Part::impossible;
      note_problem(turns_.problem());
    }
    forget_all();
  }
  changed_.notify_all();
  return holds;
}

Pace DeviceTurn::pace() const noexcept {
  if (!turns_.contended()) return kBesideOutsiders;
  switch (turns_.haste_of_others()) {
    case turns::Haste::higher_class:
      return kBesideHigher;
    case turns::Haste::brief:
      return kBesideBrief;
    case turns::Haste::none:
      break;
  }
  return kAmongJobs;
}

bool DeviceTurn::begin() noexcept try {
  base::MutexLock lock(mutex_);
  if (idle_since_ != 0) grace_.observe_gap(now() - std::exchange(idle_since_, 0));
  if (!acquire(lock)) return false;
  if (inside_++ == 0) inside_since_ = now();
  return true;
} catch (...) {
  return false;
}

bool DeviceTurn::acquire(base::MutexLock& lock) {
  while (changing_) changed_.wait(lock);
  if (part_ != Part::joined) return false;
  if (holds_) return true;
  start_keeper();
  if (!change_holder([this] { return turns_.begin(); })) return false;
  keeper_wakes_.notify_one();
  return true;
}

void DeviceTurn::finish() noexcept {
  const base::MutexLock lock(mutex_);
  if (inside_ > 0) --inside_;
  if (inside_ == 0 && holds_) {
    if (is_empty()) note_idle();
    if (keeper_looks_at_ > now() + kMillisecond) keeper_wakes_.notify_one();
  }
  release_events();
}

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
  const Ns left = std::min(end - kHandover - now(), kShort);
  if (left > 0) {
    mutex_.unlock();
    sleep_for(left);
    mutex_.lock();
  }
  if (unmarked_.count != 0) unmarked_ended(false);
  return change_holder([this, abort] { return turns_.yield(abort); });
}

void DeviceTurn::sleep_for(Ns time) const {
  const base::ScopedPreciseSleep undisturbed;
  clock_.sleep_for(base::Nanoseconds(time));
}

void DeviceTurn::give_back() {
  holds_ = false;
  turns_.end();
  log_.gave_away(clock_.now(), "nothing to do");
}

launch::WaitResult DeviceTurn::make_room(base::Nanoseconds expected, const std::atomic<int>* abort) noexcept
    try {
  base::MutexLock lock(mutex_);
  const launch::WaitResult result = wait_for_room(lock, expected.count(), abort);
  release_events();
  return result;
} catch (...) {
  return launch::WaitResult::aborted;
}

launch::WaitResult DeviceTurn::wait_for_room(base::MutexLock& lock, Ns expected,
                                             const std::atomic<int>* abort) {
  using launch::WaitResult;
  const auto is_aborted = [abort] { return abort != nullptr && abort->load(std::memory_order_relaxed) != 0; };
  for (;;) {
    // Another thread of the program waits for the device, perhaps for longer than this one may.
    while (changing_ && !is_aborted()) changed_.wait_for(lock, base::Nanoseconds(kMillisecond));
    if (changing_ || !holds_) return WaitResult::aborted;
    const Pace pace = this->pace();
    if (flight_.size() < pace.in_flight || work_in_flight() + or_unknown(expected) <= pace.window.count())
      break;
    const WaitResult how = wait_for_oldest(kEarly, abort);
    if (how != WaitResult::complete) return how;
  }
  if (is_aborted()) return WaitResult::aborted;
  const Ns at = now();
  if (at - asked_at_ < kAskAgain) return WaitResult::complete;
  asked_at_ = at;
  return !turns_.should_yield() || pass_on(abort) ? WaitResult::complete : WaitResult::aborted;
}

Ns DeviceTurn::work_in_flight() const {
  Ns sum = unmarked_.expected;
  for (const InFlight& each : flight_) sum += or_unknown(each.expected);
  return sum;
}

bool DeviceTurn::wants_event(const TurnCommand& next) noexcept {
  if (!turns_.contended()) return false;
  const base::MutexLock lock(mutex_);
  if (next.expected.count() <= 0) return true;
  if (unmarked_.count != 0 && unmarked_.queue != next.queue) return true;
  return unmarked_.expected + next.expected.count() > kMostUnmarked;
}

void DeviceTurn::enqueued(const TurnCommand& command) noexcept try {
  const bool retained = command.event != nullptr && next_.clRetainEvent(command.event) == CL_SUCCESS;
  launch::Event event(next_, retained ? command.event : nullptr);
  const base::MutexLock lock(mutex_);
  if (!holds_) return;
  const Ns at = now();
  const bool same_queue = unmarked_.count != 0 && unmarked_.queue == command.queue;
  if (retained) {
    const Ns before = same_queue ? std::exchange(unmarked_, {}).expected : 0;
    flight_.push_back({std::move(event), command.queue, at, command.expected.count() + before,
                       before == 0 ? command.key : 0, command.since.count()});
    return;
  }
  const Ns since = command.since.count();
  const bool alone = unmarked_.count == 0 && (since != 0 || flight_.empty());
  if (unmarked_.count == 0) unmarked_.since = since != 0 ? since : at;
  unmarked_.queue = unmarked_.count == 0 || same_queue ? command.queue : nullptr;
  unmarked_.key = alone ? command.key : 0;
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

launch::WaitResult DeviceTurn::await(cl_event event, Ns expected_end, Ns early, const std::atomic<int>* abort,
                                     bool alone) const {
  const Ns start = now();
  const Ns until = start + kPatience + allowance(expected_end - start);
  const base::ScopedPreciseSleep undisturbed;
  for (Ns at = start;; at = now()) {
    if (has_ended(event)) return launch::WaitResult::complete;
    if (abort != nullptr && abort->load(std::memory_order_relaxed) != 0) return launch::WaitResult::aborted;
    if (at > until) return launch::WaitResult::stalled;
    if (alone && at > expected_end - early && at < expected_end + early) {  // each moment is lost
      clock_.spin();
      continue;
    }
    const Ns usual = std::clamp((at - start) / kShareOfWait, kShortestSleep, kMillisecond);
    clock_.sleep_for(base::Nanoseconds(std::max(usual, std::min(expected_end - early - at, kMillisecond))));
  }
}

launch::WaitResult DeviceTurn::wait_for_oldest(Ns early, const std::atomic<int>* abort) {
  const InFlight& oldest = flight_.front();
  const cl_event handle = oldest.event.get();
  const Ns expected_end = std::max(oldest.enqueued, last_end_) + oldest.expected;
  if (next_.clRetainEvent(handle) != CL_SUCCESS) return forget_oldest(), launch::WaitResult::aborted;
  launch::Event event(next_, handle);
  const cl_event newest = flight_.back().event.get();
  const bool others = newest != handle && next_.clRetainEvent(newest) == CL_SUCCESS;
  launch::Event last(next_, others ? newest : nullptr);
  mutex_.unlock();
  const bool alone = !turns_.contended();
  const launch::WaitResult how = await(handle, expected_end, alone ? kEarlyAlone : early, abort, alone);
  if (others && has_ended(newest)) ran_dry_ = true;
  mutex_.lock();
  release_later(std::move(last));
  const bool is_there = !flight_.empty() && flight_.front().event.get() == handle;
  release_later(std::move(event));
  if (how == launch::WaitResult::complete && is_there) oldest_ended();
  if (how == launch::WaitResult::stalled) {
    forget_all();
    log_.count_stall();
    if (++stalls_ >= kMaxStalls) gave_up_ = true;
  }
  return how;
}

void DeviceTurn::oldest_ended() {
  const InFlight& oldest = flight_.front();
  const Ns at = now();
  observe(oldest.key, at - (oldest.since != 0 ? oldest.since : std::max(oldest.enqueued, last_end_)));
  last_end_ = at;
  forget_oldest();
}

void DeviceTurn::observe(learn::Key key, Ns took) const noexcept try {
  if (key != 0) durations_.observe(key, 1, base::Nanoseconds(took));
} catch (...) {  // out of memory: not learnt
}

// `seen`: the program has just waited for them.
void DeviceTurn::unmarked_ended(bool seen) {
  const Unmarked ended = std::exchange(unmarked_, {});
  last_end_ = now();
  if (seen && ended.count == 1) observe(ended.key, last_end_ - ended.since);
}

// Removes what has ended from the front.
void DeviceTurn::collect() {
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
    oldest_ended();
  }
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
  if (grace_.grace() == 0) give_back();
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
    if (holds_) {
      keeper_wakes_.wait_for(lock, base::Nanoseconds(pause));
    } else {
      keeper_wakes_.wait(lock);
    }
  }
}

// Ends the turn when nothing is left on the device. Returns when to look again.
Ns DeviceTurn::look_after() {
  if (inside_ > 0 || changing_) {
    if (holds_) static_cast<void>(turns_.should_yield());  // a sign of life
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
    static_cast<void>(turns_.should_yield());  // a sign of life
    if (age <= kKeepersPatience + kTimesExpected * oldest.expected)
      return std::min(std::max(oldest.expected - age, age / kShareOfWait), kMillisecond);
    forget_oldest();
    return 0;
  }
  if (unmarked_.count != 0) return kWhileIdle;
  if (idle_since_ == 0) note_idle();
  if (!holds_) return 0;
  const Ns left = idle_since_ + grace_.grace() - at;
  if (left <= 0 || turns_.should_yield()) return give_back(), 0;
  return std::min(left, kWhileIdle);
}

}  // namespace cleave::interpose
