#include "interpose/turns/turn_devices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace cleave::interpose {
namespace {

constexpr const char* kNoTurns =
    "no weight, class or cap without turns: CLEAVE_TURNS or CLEAVE_REGISTRY is off";
constexpr const char* kOnProcessors =
    "no weight and no class on a processor, which the host shares out: set CLEAVE_TURNS=on, or a cap";

}  // namespace
std::string turn_identity(const DeviceFacts& facts) { return std::to_string(facts.identity); }

const char* turn_kind(const DeviceFacts& facts) noexcept {
  if (facts.quirks.remote) return "remote";
  return facts.is_processor() ? "processor" : "device";
}

TurnDevices::TurnDevices(base::ForkLocks& forks, const Table& next, base::Clock& clock,
                         const base::Settings& settings, limits::LiveLimits& live, learn::CostTable& costs,
                         Tracer* trace)
    : next_(next),
      clock_(clock),
      settings_(settings),
      trace_(trace),
      costs_(costs),
      live_(live),
      followed_(live.version()) {
  forks.add<&TurnDevices::note_child>(base::ForkOrder::turn_devices, *this, *this);
}

bool TurnDevices::may_take_turns() const {
  return settings_.turns.mode != base::TurnMode::off && !settings_.registry.empty();
}

void TurnDevices::add(const QueueRecord& queue, const DeviceFacts& facts) noexcept try {
  if (queue.remote || find(queue.device) != nullptr) return;
  const base::Cap cap = live_.cap();
  const bool has_place =
      live_.weight() != turns::kDefaultWeight || settings_.turns.priority != base::TurnPriority::normal;
  if (!may_take_turns()) return has_place || cap.permille != 0 ? say_once(kNoTurns) : void();
  // The host's scheduler shares out its processors by itself, but knows no caps.
  const bool only_capped = settings_.turns.mode == base::TurnMode::automatic && facts.is_processor();
  if (only_capped && cap.permille == 0 && has_place) say_once(kOnProcessors);
  if (only_capped && cap.permille == 0 && !live_.may_change()) return;
  Candidate made = candidate(queue.device, facts);
  const base::MutexLock lock(mutex_);
  if (!only_capped || live_.cap().permille != 0) return take_part(std::move(made));
  const bool known = std::any_of(processors_.begin(), processors_.end(),
                                 [&](const Candidate& each) { return each.id == made.id; });
  if (!known && processors_.size() < devices_.size()) processors_.push_back(std::move(made));
} catch (...) {  // out of memory: no turns on this device
}

TurnDevices::Candidate TurnDevices::candidate(cl_device_id device, const DeviceFacts& facts) const {
  Candidate made{device, {}};
  made.options.folder = settings_.registry;
  made.options.identity = turn_identity(facts);
  made.options.device = facts.name;
  made.options.tenant = live_.tenant();
  made.options.priority = turns::priority_of(settings_.turns.priority);
  made.options.declared = settings_.turns.mode == base::TurnMode::on;
  return made;
}

void TurnDevices::take_part(Candidate candidate) {
  const unsigned count = count_.load(std::memory_order_relaxed);
  if (count == devices_.size() || find(candidate.id) != nullptr) return;
  const base::Cap cap = live_.cap();
  candidate.options.weight = live_.weight();
  candidate.options.cap = static_cast<std::uint16_t>(cap.permille);
  candidate.options.borrows = cap.borrow;
  devices_[count].id = candidate.id;
  devices_[count].turn = std::make_unique<DeviceTurn>(next_, clock_, costs_, live_, candidate.options, trace_,
                                                      candidate.options.device);
  count_.store(count + 1, std::memory_order_release);
}

DeviceTurn* TurnDevices::find(cl_device_id device) const noexcept {
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    if (devices_[i].id == device) return devices_[i].turn.get();
  }
  return nullptr;
}

void TurnDevices::say_once(const std::string& line) {
  if (!warned_.exchange(true)) base::log_line(line);
}

void TurnDevices::warn(const std::string& problem) {
  if (problem.empty()) return;
  say_once("no turns with other processes on a shared device: " + problem +
           " (CLEAVE_REGISTRY names the folder; CLEAVE_TURNS=off does without)");
}

DeviceTurn* TurnDevices::of(cl_device_id device) noexcept try {
  DeviceTurn* const turn = find(device);
  if (turn == nullptr || !turn->contended()) return nullptr;
  if (turn->takes_part()) return turn;
  std::string problem;
  if (!turn->enter(problem)) warn(problem);
  return turn->contended() ? turn : nullptr;
} catch (...) {
  return nullptr;
}

void TurnDevices::apply_limits() noexcept {
  followed_ = live_.version();
  if (live_.cap().permille != 0) join_on_processors();
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) devices_[i].turn->follow_limits();
}

// A cap has appeared.
void TurnDevices::join_on_processors() noexcept try {
  const base::MutexLock lock(mutex_);
  for (; !processors_.empty(); processors_.pop_back()) take_part(std::move(processors_.back()));
} catch (...) {  // out of memory: no turns on this device
}

void TurnDevices::count_exempt(cl_device_id device, TurnExemption why) noexcept {
  const DeviceTurn* const turn = find(device);
  if (turn == nullptr || !turn->takes_part()) return;
  exempt_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

observe::TurnsSummary TurnDevices::report() const {
  observe::TurnsSummary summary;
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) summary.devices.push_back(devices_[i].turn->report());
  for (std::size_t i = 0; i < exempt_.size(); ++i)
    summary.exempt.emplace_back(kTurnExemptions[i], exempt_[i].load(std::memory_order_relaxed));
  return summary;
}

void TurnDevices::note_child() noexcept {
  in_child_ = true;
  for (auto& count : exempt_) count.store(0, std::memory_order_relaxed);
}

void TurnDevices::leave() noexcept {
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) devices_[i].turn->leave();
}

void TurnDevices::lock() {
  mutex_.lock();
  for (Device& device : devices_) {
    if (device.turn) device.turn->before_fork();
  }
}

void TurnDevices::unlock() {
  for (Device& device : devices_) {
    if (!device.turn) continue;
    if (in_child_) {
      device.turn->after_fork_in_child();
    } else {
      device.turn->after_fork_in_parent();
    }
  }
  in_child_ = false;
  mutex_.unlock();
}

}  // namespace cleave::interpose
