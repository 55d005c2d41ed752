#include "turns/turns.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/files/registry_file.h"
#include "base/threads/scoped_thread_state.h"
#include "turns/contenders.h"

namespace cleave::turns {
namespace {

constexpr Ns kSecond = 1'000'000'000;
// How many milliseconds a process that exits waits for another thread's step.
constexpr int kTriesAtExit = 100;
// Heartbeats at this interval are enough.
constexpr Ns kPulse = 1'000'000;
// No more than so much is credited late: a turn that a cap ends too early costs more than a step.
constexpr Ns kMostUncredited = 200'000;

// For this many leases those that get the device before a waiting one may send no heartbeat.
constexpr Ns kLongestQuiet = 2;

// For the holder of the device.
Haste haste_of_others_than(std::uint32_t self, const View& state, Ns quantum, Ns now) {
  if (self >= state.participants.size()) return Haste::none;
  const Participant& mine = state.participants[self];
  Haste most = Haste::none;
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    const Participant& p = state.participants[slot];
    if (p.nonce == 0 || slot == self || now - p.asked_at > kSecond) continue;
    if (p.priority < mine.priority) return Haste::higher_class;
    if (p.priority == mine.priority && p.request <= quantum / 2) most = Haste::brief;
  }
  return most;
}

std::uint32_t both_of(std::uint16_t cap, bool borrows) {
  return std::uint32_t{cap} << 1U | (borrows ? 1U : 0U);
}

// By more than one participant.
bool are_taken(const View& state) {
  const auto members = state.participants.first(state.header.slots);
  return is_declared(state) &&
         std::count_if(members.begin(), members.end(), [](const Participant& p) { return p.nonce != 0; }) > 1;
}

// Whether the holder has done so since it got the device. Without a holder none is expected.
bool shows_life(const Header& header) { return header.holder == kNobody || header.pulse > header.turn_began; }

bool has_others_that_ask(State& state, std::uint32_t self) {
  for (std::uint32_t slot = 0; slot < state.header.slots; ++slot) {
    if (slot != self && asks(state.view(), slot)) return true;
  }
  return false;
}

}  // namespace

// The thread that follows joins, leaves and declared intents. It reads the futex first: a process that changes entries
// changes that one last.
void Turns::follow_members(const SharedFile& file, Company& company, const std::atomic<bool>& watching,
                           const std::function<void()>& on_change) {
  const std::unique_ptr<State> state(new (std::nothrow) State);
  while (state && watching && file.read(*state)) {
    company.follow(are_taken(state->view()));
    if (on_change) on_change();
    // The flag is set before that number changes: what has been read may be the newest one.
    if (!watching || !file.wait_for_members(state->header.members)) break;
  }
  if (watching) company.follow(false);
}

Turns::Turns(base::ForkLocks& forks, Options options)
    : company_(std::make_shared<Company>()),
      is_capped_(options.cap != 0 && !options.borrows),
      options_(std::move(options)),
      scheduler_(std::max(options_.quantum, Scheduler::kMinRequest)),
      protocol_(scheduler_, options_.timing),
      weight_(std::clamp(options_.weight, 1U, kMaxWeight)),
      own_weight_(weight_.load()),
      cap_(both_of(options_.cap, options_.borrows)) {
  forks.add<&Turns::reset_in_child>(base::ForkOrder::turns, mutex_, *this);
}

void Turns::reset_in_child() noexcept {
  if (file_) file_->forget();
  // The watching thread's share of it is lost with the thread.
  file_.reset();
  watching_.reset();
  company_->follow(false);
  leaving_ = false;
  users_ = 0;
  self_ = {};
  known_ = {};
  problem_.clear();
  idle_ = 0;
  std::destroy_at(&wait_log_);  // in place: what would be assigned is too large for a small stack
  std::construct_at(&wait_log_);
  pauses_ = false;
}

bool Turns::is_mine(const View& state) const {
  return exists(state, self_.slot) && state.participants[self_.slot].nonce == self_.nonce;
}

// What a step begins with may have been written by anybody. What it ends with counts only if it was stored.
template <typename Step>
bool Turns::update(Step step) {
  Remembered known;
  const bool updated = file_->update([&](View state, Ns now) {
    mutex_.assert_held();
    if (is_mine(state)) scheduler_.restore(state, self_.slot, known_, now);
    step(state, now);
    known = is_mine(state) ? scheduler_.remember(state, self_.slot, now) : Remembered{};
  });
  if (updated) known_ = known;
  return updated;
}

bool Turns::enter(std::string& problem) try {
  const base::MutexLock lock(mutex_);
  return file_ != nullptr || join(problem);
} catch (...) {
  problem = "out of memory";
  return false;
}

bool Turns::join(std::string& problem) {
  auto file = SharedFile::open(options_.folder, options_.identity, problem);
  if (!file) return false;
  self_ = {file->claim_slot(), base::registry_nonce()};
  if (self_.slot == kNobody) return problem = "too many processes use the device", false;
  Participant newcomer;
  newcomer.weight = weight_;
  newcomer.cap = static_cast<std::uint16_t>(cap_.load() >> 1U);
  newcomer.borrows = static_cast<std::uint8_t>(cap_.load() & 1U);
  set_tenant(newcomer, options_.tenant);
  newcomer.priority = static_cast<std::uint8_t>(options_.priority);
  newcomer.pid = static_cast<std::uint32_t>(getpid());
  newcomer.declares = declares() ? 1 : 0;
  Remembered joined_as;
  const bool joined = file->update([&, self = self_](View state, Ns now) {
    protocol_.reap(state, self, now, *file);
    protocol_.join(state, self, newcomer, now, *file);
    if (!options_.device.empty()) set_device_name(state.header, options_.device);
    joined_as = scheduler_.remember(state, self.slot, now);
  });
  if (!joined) return problem = file->problem(), false;
  if (State* const state = file->look(); state != nullptr) company_->follow(are_taken(state->view()));
  watch(file);
  file_ = std::move(file);
  known_ = joined_as;
  return true;
}

void Turns::watch(const std::shared_ptr<SharedFile>& file) {
  mutex_.assert_held();
  watching_ = std::make_shared<std::atomic<bool>>(true);
  const base::ScopedSignalBlock blocked;
  std::thread([file, company = company_, watching = watching_, on_change = options_.on_change] {
    follow_members(*file, *company, *watching, on_change);
  }).detach();
}

void Turns::leave() noexcept {
  const base::MutexLock lock(mutex_);
  leave_file();
}

void Turns::leave_at_exit() noexcept {
  leaving_ = true;
  // Another thread's step is short, but the thread may have to wait for a processor; this thread's own, under a signal handler,
  // does not end.
  for (int i = 0; i <= kTriesAtExit; ++i) {
    if (mutex_.try_lock()) {
      const base::MutexLock lock(mutex_, std::adopt_lock);
      return leave_file();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Turns::leave_file() {
  if (!file_) return;
  watching_->store(false);
  update([this](View state, Ns now) {
    mutex_.assert_held();
    credit(state, idle_, now);
    protocol_.leave(state, self_, now, *file_);
  });
  give_up();
}

// The file is closed when the last thread that waits on it has noticed.
void Turns::give_up() {
  company_->follow(false);
  if (watching_) watching_->store(false);
  if (file_) file_->release_slot();
  file_.reset();
}

// Under another entry: what is left of the old one lapses when no thread has the file mapped any more. Once in a step.
bool Turns::rejoin(bool& rejoined) {
  give_up();
  if (std::exchange(rejoined, true) || !join(problem_)) return false;
  problem_.clear();
  return true;
}

template <typename Step>
bool Turns::step_and_wait(Step step, const std::atomic<int>* interrupt) {
  bool rejoined = false;
  bool waits = false;
  Ns life_seen = 0;  // of a holder
  while (file_) {
    if (leaving_) {
      leave_file();
      return false;
    }
    Answer answer;
    const bool updated = update([&](View state, Ns now) {
      mutex_.assert_held();
      if (life_seen == 0 || shows_life(state.header)) life_seen = now;
      if (now - life_seen >= kLongestQuiet * options_.timing.lease) protocol_.pass_over_others(state, self_);
      answer = step(state, now);
      wait_log_.follow(state, self_.slot, answer.standing, now);
      haste_ = haste_of_others_than(self_.slot, state, scheduler_.quantum(), now);
      turn_began_ = state.header.turn_began;
    });
    if (!updated) {
      problem_ = file_->problem();
      if (!file_->was_closed() || !rejoin(rejoined)) break;
      continue;
    }
    wait_log_.note();
    if (answer.standing == Standing::holds) {
      users_ = std::max(users_, 1U);  // another thread may have ended the turn before meanwhile
      return true;
    }
    if (answer.standing == Standing::gone) {  // somebody took this process for dead, or the file was emptied
      problem_ = "it is written by others";
      if (!rejoin(rejoined)) break;
      continue;
    }
    if (interrupt != nullptr && interrupt->load() != 0) {
      users_ = 0;
      idle(0);
      return false;
    }
    const std::shared_ptr<SharedFile> file = file_;
    const std::uint32_t slot = self_.slot;
    if (!std::exchange(waits, true)) waits_.fetch_add(1, std::memory_order_relaxed);
    mutex_.unlock();
    const bool waited = file->wait_for_wake(slot, answer.wakes, answer.look_at);
    mutex_.lock();
    if (!waited) {
      problem_ = "it cannot be waited for";
      break;
    }
  }
  // Without turns from now on, until enter() is called again.
  give_up();
  return false;
}

void Turns::set_weight(std::uint32_t own, std::uint32_t divisor) noexcept {
  own = std::clamp(own, 1U, kMaxWeight);
  const std::uint32_t weight = std::max(own / divisor, 1U);
  if (weight_.load(std::memory_order_relaxed) == weight && own_weight_.load(std::memory_order_relaxed) == own)
    return;
  const base::MutexLock lock(mutex_);
  weight_ = weight;
  own_weight_ = own;
  if (!file_) return;
  update([&](View state, Ns now) {
    mutex_.assert_held();
    protocol_.weigh(state, self_, weight, now);
    show_settings(state);
  });
}

void Turns::set_cap(std::uint16_t cap, bool borrows) noexcept {
  const std::uint32_t both = both_of(cap, borrows);
  if (cap_.load(std::memory_order_relaxed) == both) return;
  const base::MutexLock lock(mutex_);
  cap_ = both;
  is_capped_ = cap != 0 && !borrows;
  if (!file_) return;
  update([&](View state, Ns now) {
    mutex_.assert_held();
    protocol_.limit(state, self_, cap, borrows, now);
    show_settings(state);
  });
}

// A process that has declared an intent by its settings goes on to: what they were counts for a while.
void Turns::show_settings(View state) const {
  if (!is_mine(state)) return;
  Participant& mine = state.participants[self_.slot];
  if (mine.declares != 0 || !declares()) return;
  mine.declares = 1;
  ++state.header.members;
}

WaitCauses Turns::wait_causes() {
  if (!mutex_.try_lock()) return {};
  const base::MutexLock lock(mutex_, std::adopt_lock);
  return wait_log_.causes();
}

bool Turns::begin() noexcept try {
  const base::MutexLock lock(mutex_);
  if (!file_) return false;
  const Ns now = monotonic_now();
  ++users_;
  const bool reaps = now - reaped_at_ > kSecond;
  if (reaps) reaped_at_ = now;
  bool first = reaps;
  const bool holds = step_and_wait([&](View state, Ns at) {
    mutex_.assert_held();
    if (std::exchange(first, false)) protocol_.reap(state, self_, at, *file_);
    return protocol_.ask(state, self_, at, *file_);
  });
  if (!holds) users_ = 0;
  return holds;
} catch (...) {
  return false;
}

bool Turns::should_yield() noexcept {
  const base::MutexLock lock(mutex_);
  if (leaving_) {
    leave_file();
    return false;
  }
  State* const seen = file_ ? file_->look() : nullptr;
  if (seen == nullptr) return false;
  State& state = *seen;
  const Ns now = monotonic_now();
  if (is_mine(state.view())) scheduler_.restore(state.view(), self_.slot, known_, now);
  const bool mine = state.header.holder == self_.slot;
  if (mine && now - state.header.pulse > kPulse) file_->show_life(now);
  haste_ = haste_of_others_than(self_.slot, state.view(), scheduler_.quantum(), now);
  const bool should = protocol_.should_pass(state.view(), self_, now);
  pauses_ = should && mine && is_throttled(state.participants[self_.slot], now) &&
            !has_others_that_ask(state, self_.slot);
  return should;
}

std::uint64_t Turns::overdue_turn() noexcept {
  const base::MutexLock lock(mutex_);
  State* const state = file_ ? file_->look() : nullptr;
  if (state == nullptr || state->header.holder != self_.slot) return 0;
  const bool is_overdue =
      has_others_that_ask(*state, self_.slot) && protocol_.should_pass(state->view(), self_, monotonic_now());
  return is_overdue ? state->header.turn : 0;
}

void Turns::credit(View state, Ns idle, Ns now) {
  const Header& h = state.header;
  if (h.holder != self_.slot) return;
  if (std::exchange(credited_turn_, h.turn) != h.turn) credited_ = 0;
  const Ns most = std::max<Ns>(now - h.turn_began - credited_, 0);
  const Ns believed = std::clamp<Ns>(idle, 0, most);
  credited_ += believed;
  protocol_.credit(state, self_, believed, now);
}

void Turns::credit(Ns idle) noexcept {
  const base::MutexLock lock(mutex_);
  idle_ += idle;
  if (!file_ || idle_ < kMostUncredited) return;
  const Ns all = std::exchange(idle_, 0);
  update([&](View state, Ns now) {
    mutex_.assert_held();
    credit(state, all, now);
  });
}

bool Turns::yield(const std::atomic<int>* interrupt) noexcept try {
  const base::MutexLock lock(mutex_);
  bool first = true;
  const Ns idle = std::exchange(idle_, 0);
  return step_and_wait(
      [&](View state, Ns now) {
        mutex_.assert_held();
        // Once it has been passed on, this process waits for it.
        if (!std::exchange(first, false)) return protocol_.look(state, self_, now, *file_);
        credit(state, idle, now);
        return protocol_.pass(state, self_, now, *file_);
      },
      interrupt);
} catch (...) {
  return false;
}

void Turns::end(Ns grace) noexcept {
  const base::MutexLock lock(mutex_);
  if (users_ != 0 && --users_ == 0 && file_) idle(grace);
}

void Turns::idle(Ns grace) {
  const Ns unused = std::exchange(idle_, 0);
  update([&](View state, Ns now) {
    mutex_.assert_held();
    credit(state, unused, now);
    static_cast<void>(protocol_.idle(state, self_, grace, now, *file_));
  });
}

std::string Turns::problem() noexcept try {
  const base::MutexLock lock(mutex_);
  return problem_;
} catch (...) {
  return {};
}

std::vector<ParticipantReport> Turns::snapshot() {
  const base::MutexLock lock(mutex_);
  State* const state = file_ ? file_->look() : nullptr;
  if (state == nullptr) return {};
  return participants_of(state->view(), monotonic_now());
}

Priority priority_of(base::TurnPriority priority) noexcept {
  switch (priority) {
    case base::TurnPriority::high:
      return Priority::high;
    case base::TurnPriority::background:
      return Priority::background;
    case base::TurnPriority::idle:
      return Priority::idle;
    case base::TurnPriority::normal:
      break;
  }
  return Priority::normal;
}

}  // namespace cleave::turns
