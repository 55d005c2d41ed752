#include "neighbours/neighbours.h"

#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

#include "base/log.h"
#include "neighbours/file_source.h"
#include "neighbours/monitor_source.h"
#include "neighbours/peers_source.h"

namespace cleave::neighbours {
namespace {

using namespace std::chrono_literals;

// How long the first launch waits at most. A daemon on this machine or host answers in well under a millisecond.
constexpr base::Nanoseconds kFirstAnswerTimeout = 20ms;
// How long exit() waits at most, for example if the thread is in the resolver.
constexpr base::Nanoseconds kStopTimeout = 50ms;

bool needs_sources(const base::Settings& settings) {
  return (!settings.vms && settings.policy.needs_vms()) || settings.policy.needs_pressure();
}

// Differs between the processes of a host.
std::uint64_t make_seed() {
  return static_cast<std::uint64_t>(base::Clock::system().now().count()) ^
         static_cast<std::uint64_t>(getpid()) << 40U;
}

std::string as_text(const base::NeighbourSources& sources) {
  std::string text;
  const auto add = [&](const std::string& name) { text.append(text.empty() ? "" : ",").append(name); };
  if (sources.monitor) add("monitor");
  if (sources.peers) add("peers");
  for (const std::string& file : sources.files) add("file:" + file);
  return text;
}

Report::State overall_state(const std::vector<Report::Source>& sources) {
  const auto any = [&](Freshness freshness) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Report::Source& source) { return source.freshness == freshness; });
  };
  if (any(Freshness::stale)) return Report::State::stale;
  return any(Freshness::fresh) ? Report::State::known : Report::State::alone;
}

}  // namespace

const char* name(Report::State state) {
  static constexpr std::array kNames = {"fixed", "idle", "known", "stale", "alone", "stopped"};
  return kNames[static_cast<std::size_t>(state)];
}

Neighbours::Neighbours(base::ForkLocks& forks, const base::Settings& settings)
    : settings_(settings),
      needs_sources_(needs_sources(settings)),
      vms_(settings.vms.value_or(1)),
      entry_(forks, settings.registry) {
  forks.add<&Neighbours::reset_in_child>(base::ForkOrder::neighbours, mutex_, *this);
  entry_.set_vms(vms());
}

Neighbours::~Neighbours() {
  stop();
  const base::MutexLock lock(mutex_);
  // The thread's callbacks use this object.
  if (poller_) static_cast<void>(poller_->stop(std::chrono::hours(1)));
}

void Neighbours::start() noexcept {
  entry_.publish();
  start_polling();
}

void Neighbours::start_polling() noexcept try {
  if (!needs_sources_) return;
  // Held during the wait for first answers, so that the first launches of other threads wait, too.
  const base::MutexLock lock(mutex_);
  if (std::exchange(started_, true) || stopped_) return;
  start_poller();
} catch (...) {  // out of memory: the count stays as it is
}

void Neighbours::start_poller() {
  SourcePoller::Observer observer;
  observer.count = [this](unsigned vms) {
    if (settings_.vms) return;
    vms_.store(vms, std::memory_order_relaxed);
    entry_.set_vms(vms);
  };
  if (settings_.policy.needs_pressure()) {
    control_.emplace(settings_.policy.share, make_seed());
    observer.pressure = [this](std::optional<unsigned> thousandths, base::Nanoseconds now) {
      return follow_pressure(thousandths, now);
    };
  }
  observer.warning = [this](const std::string& warning) { warn(warning); };
  observer.bounded = [this](const std::string& source, unsigned vms) { warn_of_bound(source, vms); };
  poller_ = SourcePoller::start(make_sources(), settings_.max_age, std::move(observer));
  if (poller_) poller_->wait_for_first_answers(kFirstAnswerTimeout);
}

base::Nanoseconds Neighbours::follow_pressure(std::optional<unsigned> thousandths, base::Nanoseconds now) {
  const std::uint64_t before = restraint_.load(std::memory_order_relaxed);
  if (used_.load(std::memory_order_acquire) == before) {
    const base::Nanoseconds at(used_at_.load(std::memory_order_relaxed));
    control_->used(std::min(at, now));
  }
  control_->update(thousandths ? std::optional(*thousandths / 1000.0) : std::nullopt, now);
  pressure_.store(thousandths ? static_cast<int>(*thousandths) : -1, std::memory_order_relaxed);
  const unsigned level = control_->restraint();
  if (level != level_of(before))
    restraint_.store((((before >> kLevelBits) + 1) << kLevelBits) | level, std::memory_order_relaxed);
  return control_->next_update();
}

// Of several threads at a time one counts, whichever it is.
void Neighbours::note_use(std::uint64_t restraint) noexcept {
  used_at_.store(base::Clock::system().now().count(), std::memory_order_relaxed);
  used_.store(restraint, std::memory_order_release);
}

void Neighbours::stop() noexcept {
  stopped_ = true;
  // A signal handler may call exit() anywhere, even within start(): never wait for the lock.
  if (mutex_.try_lock()) {
    const base::MutexLock lock(mutex_, std::adopt_lock);
    if (poller_) static_cast<void>(poller_->stop(kStopTimeout));
  }
  entry_.withdraw();
}

void Neighbours::reset_in_child() noexcept {
  if (poller_) poller_->close_in_child();
  poller_.reset();  // never destroyed: the thread, which the child does not have, still holds a reference
  started_ = false;
}

std::vector<std::unique_ptr<Source>> Neighbours::make_sources() const {
  std::vector<std::unique_ptr<Source>> sources;
  for (const std::string& file : settings_.sources.files)
    sources.push_back(std::make_unique<FileSource>(file));
  if (settings_.sources.peers) sources.push_back(std::make_unique<PeersSource>(entry_));
  if (settings_.sources.monitor) {
    const auto addresses = settings_.monitor ? std::vector{*settings_.monitor} : default_addresses();
    sources.push_back(std::make_unique<MonitorSource>(addresses, settings_.monitor.has_value(), make_seed(),
                                                      settings_.max_age, settings_.monitor_trust,
                                                      settings_.count_by));
  }
  return sources;
}

void Neighbours::warn(const std::string& warning) {
  if (!warned_.exchange(true)) base::log_line(warning + " (until then the last count holds)");
}

void Neighbours::warn_of_bound(const std::string& source, unsigned vms) {
  base::log_line("neighbours.source: " + source + " reports " + std::to_string(vms) + " VMs, and " +
                 std::to_string(kMaxBelievedVms) + " are believed: set CLEAVE_VMS if there are more");
}

Report Neighbours::report() const {
  Report report;
  report.source = as_text(settings_.sources);
  if (settings_.policy.needs_pressure()) {
    report.restraint = restraint();
    const int pressure = pressure_.load(std::memory_order_relaxed);
    if (pressure >= 0) report.pressure = static_cast<unsigned>(pressure);
  }
  if (!needs_sources_) {
    report.state = Report::State::fixed;
    report.source = settings_.vms ? "fixed" : "none";
    return report;
  }
  // start() may be running in another thread, or in this one, interrupted by a signal handler that calls exit().
  if (!mutex_.try_lock()) return report;
  const base::MutexLock lock(mutex_, std::adopt_lock);
  if (!started_) return report;
  report.state = Report::State::stopped;
  if (!poller_) return report;
  const base::Nanoseconds now = base::Clock::system().now();
  const SourcePoller::Counters counters = poller_->counters();
  report.stale = counters.stale;
  report.changes = counters.changes;
  for (const SourceStatus& status : counters.sources) {
    const base::Nanoseconds age = status.last_count ? now - status.last_count->at : base::Nanoseconds(0);
    report.sources.push_back({status, freshness_of(status.last_count, settings_.max_age, now),
                              std::max(age, base::Nanoseconds(0))});
  }
  report.state = overall_state(report.sources);
  return report;
}

}  // namespace cleave::neighbours
